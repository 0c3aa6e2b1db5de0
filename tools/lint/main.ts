import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { renderStoredNames, storedNamesIn } from './src/stored-names.ts';

// Checks the list of stored names that house/glossary-words allows; --write updates it.
const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const list = 'tools/lint/src/stored-names.generated.ts';
const apis = ['v1', 'v2', 'admin', 'supplier'].map(
  (name) => JSON.parse(read(`openapi/${name}.json`)) as unknown,
);
const current = renderStoredNames(storedNamesIn(read('db/schema.sql'), apis));
if (process.argv.includes('--write')) writeFileSync(join(root, list), current);
else if (read(list) !== current) {
  console.error(`${list} is out of date. Run npm run check -- --only stored-names --fix.`);
  process.exitCode = 1;
}
