import { existsSync } from 'node:fs';
import path from 'node:path';

const modules = path.join(import.meta.dirname, '../../../node_modules');
const pinned = ['node22', 'node24'].map((name) => path.join(modules, name, 'bin'));

/** Folders with the Node versions on which published packages are tested. npm has the pinned ones only for Linux x64. */
export function testedNodes(): readonly [string, ...string[]] {
  const [first, ...others] = pinned.filter((folder) => existsSync(path.join(folder, 'node')));
  if (process.env['CI'] !== undefined && others.length + 1 !== pinned.length) {
    throw new Error(
      `CI tests published packages on each supported Node. One of ${pinned.join(', ')} is missing.`,
    );
  }
  return first === undefined ? [path.dirname(process.execPath)] : [first, ...others];
}
