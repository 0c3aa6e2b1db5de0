import { debianRootfs, requireRootfs } from '@millrace/release';
import { llamaCommand, natsCommand, restateCommand } from '@millrace/services';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { importRoot, type ContainerHost } from './container-host.ts';

// Images with the same entry points, users and places of volumes as the public ones, as far as the compose file uses them.

/** Does the same with these variables as the entry point of the public image. */
const postgresEntry = `#!/bin/sh
set -e
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username="$POSTGRES_USER" --auth="$POSTGRES_HOST_AUTH_METHOD" $POSTGRES_INITDB_ARGS > /dev/null
  pg_ctl -s -w -o "-c listen_addresses=''" start
  createdb -h /var/run/postgresql -U "$POSTGRES_USER" "$POSTGRES_DB" 2>/dev/null ||
    psql -h /var/run/postgresql -U "$POSTGRES_USER" -lqt | grep -q "$POSTGRES_DB"
  pg_ctl -s -w stop
fi
exec "$@"
`;

const DATA = '/var/lib/postgresql/data';
const DEBIAN = 'localhost/debian-engines:1';

interface Addition {
  readonly source: string;
  readonly place: string;
  readonly flags?: readonly string[];
}

interface ImageRecipe {
  readonly additions?: readonly Addition[];
  readonly config: readonly string[];
}

/** Makes the images, and returns the variables of the compose file that name them. */
export async function makeEngineImages(host: ContainerHost): Promise<Readonly<Record<string, string>>> {
  await importRoot(host, DEBIAN, requireRootfs(debianRootfs().engines), []);
  const made: Record<string, string> = {};
  for (const [name, recipe] of Object.entries(await recipesIn(path.join(host.folder, 'engines')))) {
    const image = `localhost/${name}:1`;
    await makeImage(host, image, recipe);
    made[`${name.toUpperCase()}_IMAGE`] = image;
  }
  return made;
}

async function recipesIn(folder: string): Promise<Readonly<Record<string, ImageRecipe>>> {
  const empty = path.join(folder, 'empty');
  await mkdir(empty, { recursive: true });
  const entry = path.join(folder, 'docker-entrypoint.sh');
  await writeFile(entry, postgresEntry, { mode: 0o755 });
  const owned = (place: string, owner: string): Addition => ({
    source: empty,
    place,
    flags: ['--chown', owner],
  });
  const llama = await llamaIn(folder);
  return {
    postgres: {
      additions: [
        { source: entry, place: '/usr/local/bin/docker-entrypoint.sh' },
        owned(DATA, 'postgres:postgres'),
        owned('/var/run/postgresql', 'postgres:postgres'),
      ],
      config: [
        ...[
          '--env',
          `PGDATA=${DATA}`,
          '--env',
          'PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin',
        ],
        ...['--entrypoint', '["docker-entrypoint.sh"]', '--cmd', '["postgres"]', '--volume', DATA],
      ],
    },
    valkey: {
      additions: [owned('/data', 'valkey:valkey')],
      config: ['--entrypoint', '[]', '--cmd', '["valkey-server"]', '--workingdir', '/data'],
    },
    nats: {
      additions: [{ source: natsCommand('').file, place: '/nats-server' }],
      config: ['--entrypoint', '["/nats-server"]', '--cmd', '["--config", "nats-server.conf"]'],
    },
    restate: {
      additions: [{ source: restateCommand('').file, place: '/usr/local/bin/restate-server' }],
      config: ['--entrypoint', '["/usr/local/bin/restate-server"]'],
    },
    llama,
  };
}

/** llama-server of a later Debian, which has its own C library. */
async function llamaIn(folder: string): Promise<ImageRecipe> {
  const { file, args, folder: backends } = llamaCommand({ port: 8_000, apiKeyFile: '' });
  const top = file.slice(0, file.indexOf('/usr/lib/'));
  const copy = path.join(folder, 'llama.cpp');
  await cp(top, copy, { recursive: true, verbatimSymlinks: true });
  const [libraryFlag = '', libraries = '', server = ''] = args;
  const place = (text: string): string => text.replaceAll(top, '/app');
  const words = [file, libraryFlag, libraries, server].map(place);
  return {
    additions: [{ source: copy, place: '/app' }],
    config: ['--entrypoint', JSON.stringify(words), '--cmd', '[]', '--workingdir', place(backends)],
  };
}

async function makeImage(
  { must }: ContainerHost,
  image: string,
  { additions = [], config }: ImageRecipe,
): Promise<void> {
  const container = await must('buildah', 'from', '--pull-never', DEBIAN);
  for (const { source, place, flags = [] } of additions) {
    await must('buildah', 'add', '--quiet', ...flags, container, source, place);
  }
  await must('buildah', 'config', ...config, container);
  await must('buildah', 'commit', '--quiet', '--rm', container, image);
}
