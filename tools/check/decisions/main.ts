import { globSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  pageProblems,
  renderIndex,
  duplicateNumbers,
  undocumentedDependencies,
  unknownLaterPages,
} from '../src/decisions.ts';

// Checks the decision pages and their index; --write updates the index first.
const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'docs/decisions');
const index = join(folder, 'README.md');
const pages = readdirSync(folder)
  .filter((file) => file.endsWith('.md') && file !== 'README.md')
  .map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }));

const readme = readFileSync(index, 'utf8');
const current = renderIndex(readme, pages);
const write = process.argv.includes('--write');
if (write && current !== readme) writeFileSync(index, current);

function dependencies(): string[] {
  const manifests = globSync(['package.json', '{apps,packages,tools}/*/package.json'], { cwd: root });
  const names = manifests.flatMap((file) => {
    const manifest = JSON.parse(readFileSync(join(root, file), 'utf8')) as Record<string, object | undefined>;
    return ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.keys(manifest[kind] ?? {}),
    );
  });
  return [...new Set(names)].filter((name) => !name.startsWith('@millrace/')).toSorted();
}

const faults = [
  ...pages.flatMap(pageProblems),
  ...duplicateNumbers(pages),
  ...unknownLaterPages(pages),
  ...undocumentedDependencies(dependencies(), pages),
];
if (!write && current !== readme)
  faults.push('docs/decisions/README.md is out of date: run npm run check -- --only decisions --fix');
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
