/**
 * Writes the documents and files for monitoring from their sources in the code.
 *
 *     npm run monitoring [-- --check]
 *
 * With --check it writes nothing and fails if a file differs.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './generated-files.ts';

const root = join(import.meta.dirname, '../../../..');
const isCheck = process.argv.includes('--check');

const differing = generatedFiles().filter(({ path, text }) => {
  const file = join(root, path);
  return !existsSync(file) || readFileSync(file, 'utf8') !== text;
});
for (const { path, text } of differing) {
  if (!isCheck) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  process.stdout.write(`${path}: ${isCheck ? 'differs, run: npm run monitoring' : 'written'}\n`);
}
if (isCheck && differing.length > 0) process.exitCode = 1;
