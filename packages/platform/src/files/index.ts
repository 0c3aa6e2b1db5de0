import { open } from 'node:fs/promises';

/** Writes a file, or the names in a folder, to the disk: without it a power failure can undo a new file or a rename. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
