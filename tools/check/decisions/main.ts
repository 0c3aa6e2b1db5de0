import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { faultsOf, renderIndex, sharedNumbers } from '../src/decisions.ts';

// Checks the decision pages and their index; with --write, brings the index up to date first.
const folder = join(import.meta.dirname, '../../../docs/decisions');
const index = join(folder, 'README.md');
const pages = readdirSync(folder)
  .filter((file) => file.endsWith('.md') && file !== 'README.md')
  .map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }));

const readme = readFileSync(index, 'utf8');
const current = renderIndex(readme, pages);
const write = process.argv.includes('--write');
if (write && current !== readme) writeFileSync(index, current);

const faults = [...pages.flatMap(faultsOf), ...sharedNumbers(pages)];
if (!write && current !== readme) faults.push('docs/decisions/README.md does not list the pages as they are');
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
