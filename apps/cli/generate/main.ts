import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generatedFiles } from './files.ts';
import { source } from './manifest.ts';

for (const [path, text] of Object.entries(await generatedFiles())) {
  await writeFile(join(source, path), text);
  process.stdout.write(`wrote apps/cli/src/${path}\n`);
}
