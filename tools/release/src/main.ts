import { productFolder } from '@millrace/platform/release';
import { parseArgs } from 'node:util';
import path from 'node:path';
import { listChangedFiles, readBuildTime } from './build-time.ts';
import { prepareRootfs } from './debian-rootfs.ts';
import { makeRelease } from './make-release.ts';
import { stageServer } from './stage-server.ts';

const USAGE = `npm run release -- [all] [--into FOLDER] [--sign-with KEY]
npm run release -- prepare
npm run release -- server [--into FOLDER]

  all       makes every file of a release of this commit (default)
  prepare   makes the Debian file systems that \`all\` and its tests need; needs a network, run as root
  server    writes only the programs of a server as JavaScript, with the files that they read at run time

  --into FOLDER     default: .millrace/release/all, or .millrace/release/server
  --sign-with KEY   file with a secret key of minisign, which signs the checksums
`;
const EXIT_USAGE = 64;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    into: { type: 'string' },
    'sign-with': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const [command = 'all', ...others] = positionals;

function folderFor(name: string): string {
  return path.resolve(values.into ?? path.join(productFolder, '.millrace/release', name));
}

async function runCommand(): Promise<void> {
  switch (command) {
    case 'prepare':
      process.stdout.write(`${Object.values(prepareRootfs()).join('\n')}\n`);
      return;
    case 'server': {
      const folder = folderFor('server');
      const { version, commit, packages } = await stageServer(folder);
      process.stdout.write(
        `${folder} contains version ${version}, commit ${commit ?? 'unknown'}, with ${String(packages.length)} packages.\n`,
      );
      return;
    }
    default: {
      const [changed] = listChangedFiles();
      if (changed !== undefined) {
        throw new Error(`Commit or remove ${changed} first: a release contains only committed files.`);
      }
      const into = folderFor('all');
      const secretKey = values['sign-with'] ?? null;
      const print = (text: string): void => void process.stdout.write(`made: ${text}\n`);
      await makeRelease({ into, time: readBuildTime(), secretKey, print });
      process.stdout.write(`${into} contains the release.\n`);
    }
  }
}

if (values.help || others.length > 0 || !['all', 'prepare', 'server'].includes(command)) {
  process.stdout.write(USAGE);
  process.exitCode = values.help ? 0 : EXIT_USAGE;
} else {
  await runCommand();
}
