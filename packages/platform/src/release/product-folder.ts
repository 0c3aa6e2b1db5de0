import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Every copy of the product contains it, and no folder below the product's own does. */
const MARK = join('db', 'migrations');

/** The folder of the installed package, or of the repository. Files that programs read at run time have the same place in both. */
export const productFolder: string = findProductFolder(import.meta.dirname);

export function findProductFolder(start: string): string {
  let folder = start;
  while (!existsSync(join(folder, MARK))) {
    const parent = dirname(folder);
    if (parent === folder) {
      throw new Error(
        `No folder above ${start} contains ${MARK}: the installation is incomplete. Install it again.`,
      );
    }
    folder = parent;
  }
  return folder;
}
