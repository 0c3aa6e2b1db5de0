import { productFolder } from '@millrace/platform/release';
import { parseArgs } from 'node:util';
import path from 'node:path';
import { stageServer } from './stage-server.ts';

const USAGE = `npm run release -- server [--into FOLDER]

Writes the programs of a server as JavaScript, with the files that they read at run time.
  --into FOLDER   default: .millrace/release/server
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { into: { type: 'string' }, help: { type: 'boolean', default: false } },
});

if (values.help || positionals.length !== 1 || positionals[0] !== 'server') {
  process.stdout.write(USAGE);
  process.exitCode = values.help ? 0 : 64;
} else {
  const folder = path.resolve(values.into ?? path.join(productFolder, '.millrace/release/server'));
  const { version, commit, packages } = await stageServer(folder);
  process.stdout.write(
    `${folder} contains version ${version}, commit ${commit ?? 'unknown'}, with ${String(packages.length)} packages.\n`,
  );
}
