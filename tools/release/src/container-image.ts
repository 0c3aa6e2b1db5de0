import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { containerSettings } from './container-settings.ts';
import { normalizeTree } from './files.ts';
import { installTree, PRODUCT_PLACE } from './install-tree.ts';

export const IMAGE_NAME = 'localhost/millrace-server';

/** The name that a container engine gives the image when it loads the archive. */
export function imageOf(version: string): string {
  return `${IMAGE_NAME}:${version}`;
}

/** The user of the processes. Only the places of volumes belong to it. */
const USER = '10001:10001';
/** A new volume gets the owner of the folder at which it is mounted. */
const volumePlaces = ['/var/lib/millrace/trial', '/var/lib/millrace/restate'];

export interface ContainerImageInput {
  readonly version: string;
  readonly commit: string | null;
  /** Folder of `stageServer`. */
  readonly server: string;
  /** Folder of `stageCli`. */
  readonly cli: string;
  /** Tar file of `prepareRoots`. */
  readonly root: string;
  /** Time of all files, in seconds. */
  readonly time: number;
  readonly into: string;
}

/** Makes `millrace-server_VERSION_oci.tar`: one image for every role, whose argument names the program. */
export function makeContainerImage(input: ContainerImageInput): string {
  const { version, commit, server, cli, root, time, into } = input;
  const scratch = fs.mkdtempSync(path.join(into, '.image-'));
  const env = { ...process.env, ...containerSettings(scratch) };
  const buildah: Buildah = (...words) => execFileSync('buildah', words, { env, encoding: 'utf8' }).trim();
  try {
    const tree = path.join(scratch, 'tree');
    installTree({ root: tree, server, cli });
    normalizeTree(tree, time);
    const container = buildah('from', 'scratch');
    buildah('add', container, root, '/');
    buildah('add', container, tree, '/');
    const empty = path.join(scratch, 'empty');
    fs.mkdirSync(empty);
    for (const place of volumePlaces) buildah('add', '--chown', USER, container, empty, place);
    const node = [`${PRODUCT_PLACE}/node/bin/node`, '--max-semi-space-size=8', '--enable-source-maps'];
    buildah(
      'config',
      ...['--user', USER, '--workingdir', `${PRODUCT_PLACE}/lib`, '--stop-signal', 'SIGTERM'],
      ...['--entrypoint', JSON.stringify(node), '--cmd', 'api.js'],
      ...labels({ version, commit }),
      container,
    );
    const image = imageOf(version);
    buildah('commit', '--quiet', '--rm', '--timestamp', String(time), container, image);
    const file = path.join(into, `millrace-server_${version}_oci.tar`);
    writeArchive({ buildah, image, scratch, time, file });
    return file;
  } finally {
    // Mounts of a failed build would keep the folder.
    buildah('rm', '--all');
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

function labels({ version, commit }: Pick<ContainerImageInput, 'version' | 'commit'>): readonly string[] {
  const known = { title: 'Millrace', version, ...(commit === null ? {} : { revision: commit }) };
  return Object.entries(known).flatMap(([name, value]) => [
    '--label',
    `org.opencontainers.image.${name}=${value}`,
  ]);
}

interface ArchiveInput {
  readonly buildah: Buildah;
  readonly image: string;
  readonly scratch: string;
  readonly time: number;
  readonly file: string;
}

/** A tar file of the OCI layout. The one that buildah writes has the time of the build, so tar writes it. */
function writeArchive({ buildah, image, scratch, time, file }: ArchiveInput): void {
  const layout = path.join(scratch, 'layout');
  buildah('push', '--quiet', image, `oci:${layout}:${image}`);
  const order = ['--sort=name', `--mtime=@${String(time)}`, '--owner=0', '--group=0', '--numeric-owner'];
  execFileSync('tar', [...order, '--format=gnu', '-C', layout, '-cf', file, '.']);
}

type Buildah = (...words: readonly string[]) => string;
