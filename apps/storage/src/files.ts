import { open, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { syncPath } from '@millrace/platform/files';

/** Replaces a file atomically: readers get the old or the new text, also after a power failure. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const draft = `${file}.new`;
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  await syncPath(path.dirname(file));
}

export async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false;
      throw error;
    },
  );
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
