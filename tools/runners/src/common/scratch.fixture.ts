import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import type { Output } from './cli.ts';

/** A temporary repository with the given files; `using` deletes it. */
export function scratchRepository(
  files: Readonly<Record<string, string>>,
): Disposable & { readonly root: string } {
  const root = mkdtempSync(join(tmpdir(), 'millrace-kits-'));
  for (const [name, text] of Object.entries(files)) {
    const file = join(root, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}

export function collectOutput(): Output & { readonly lines: string[] } {
  const lines: string[] = [];
  return { lines, line: (text) => lines.push(...text.split('\n')) };
}
