/** Files that the interface sends, into the reader's own downloads. */

/** The name that the service gives a file, if it is one. */
export function downloadFileName(disposition: string | null, otherwise: string): string {
  const name = /filename="?([A-Za-z0-9][\w.-]*)"?(?:;|$)/.exec(disposition ?? '')?.[1];
  return name ?? otherwise;
}

/**
 * Reads the whole body before anything is saved: an answer that breaks off fails here, because a part of a report looks just
 * like a report.
 */
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
  // What the address stands for was taken when the link was followed.
  URL.revokeObjectURL(url);
  return name;
}
