/** Saves files from API responses as browser downloads. */

/** Returns the file name from the header, or `otherwise` if the header has no plain file name. */
export function downloadFileName(disposition: string | null, otherwise: string): string {
  const name = /filename="?([A-Za-z0-9][\w.-]*)"?(?:;|$)/.exec(disposition ?? '')?.[1];
  return name ?? otherwise;
}

/** Reads the whole body before saving, so that an interrupted response fails instead of saving a truncated report. */
export async function download(response: Response, otherwise: string): Promise<string> {
  const blob = await response.blob();
  const name = downloadFileName(response.headers.get('content-disposition'), otherwise);
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has already read the blob when click() returns.
  URL.revokeObjectURL(url);
  return name;
}
