import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** The gateway and the storage agent are left out: they have no database and no sweeps. */
const folders = ['apps/worker/src', 'apps/api/src', 'packages/core/src'];

const named = [
  /\b(?:loop|sweep)\(\s*'([^']+)'/g,
  /\bname: '([^']+)'[^}]*\bidleMs\b/g,
  /\b(?:startLoop|defineLoop)\(\s*\{[^}]*\bname: '([^']+)'/g,
];

export function loopsOfCode(): readonly string[] {
  const names = new Set<string>();
  for (const folder of folders) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || /\.(test|fixture)\.ts$|fixture\.ts$/.test(file)) continue;
      const text = readFileSync(join(root, folder, file), 'utf8');
      if (!/\b(startLoop|defineLoop)\(/.test(text)) continue;
      for (const pattern of named) {
        for (const [, name = ''] of text.matchAll(pattern)) names.add(name);
      }
    }
  }
  return [...names].toSorted();
}
