import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { containerSettings } from './container-settings.ts';
import { normalizeTree } from './files.ts';
import { installTree, INSTALL_FOLDER } from './install-tree.ts';

export const IMAGE_NAME = 'localhost/millrace-server';

/** The name that a container engine gives the image when it loads the archive. */
export function imageOf(version: string): string {
  return `${IMAGE_NAME}:${version}`;
}

/** The user of the processes. It owns only the mount points of volumes. */
const USER = '10001:10001';
/** A new volume gets the owner of the folder at which it is mounted. */
const volumeMountPoints = ['/var/lib/millrace/trial', '/var/lib/millrace/restate'];

export interface ContainerImageInput {
  readonly version: string;
  readonly commit: string | null;
  /** Folder of `stageServer`. */
  readonly server: string;
  /** Folder of `stageCli`. */
  readonly cli: string;
  /** Tar file of `prepareRootfs`. */
  readonly rootfs: string;
  /** Time of all files, in seconds. */
  readonly time: number;
  readonly into: string;
}

/** Makes `millrace-server_VERSION_oci.tar`: one image for every role, whose argument names the program. */
export function makeContainerImage(input: ContainerImageInput): void {
  const { version, commit, server, cli, rootfs, time, into } = input;
  const scratch = fs.mkdtempSync(path.join(into, '.image-'));
  const env = { ...process.env, ...containerSettings(scratch) };
  const buildah: Buildah = (...words) => execFileSync('buildah', words, { env, encoding: 'utf8' }).trim();
  try {
    const tree = path.join(scratch, 'tree');
    installTree({ root: tree, server, cli });
    normalizeTree(tree, time);
    const container = buildah('from', 'scratch');
    buildah('add', container, rootfs, '/');
    buildah('add', container, tree, '/');
    const empty = path.join(scratch, 'empty');
    fs.mkdirSync(empty);
    for (const folder of volumeMountPoints) buildah('add', '--chown', USER, container, empty, folder);
    const node = [`${INSTALL_FOLDER}/node/bin/node`, '--max-semi-space-size=8', '--enable-source-maps'];
    buildah(
      'config',
      ...['--user', USER, '--workingdir', `${INSTALL_FOLDER}/lib`, '--stop-signal', 'SIGTERM'],
      ...['--entrypoint', JSON.stringify(node), '--cmd', 'api.js'],
      ...labels({ version, commit }),
      container,
    );
    const image = imageOf(version);
    buildah('commit', '--quiet', '--rm', '--timestamp', String(time), container, image);
    const file = path.join(into, `millrace-server_${version}_oci.tar`);
    writeArchive({ buildah, image, scratch, time, file });
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

/**
 * A tar file of the OCI layout, with the manifest of `docker save`, without which older versions of Docker cannot load it. The tar file
 * of buildah has the time of the build, so tar writes this one.
 */
function writeArchive({ buildah, image, scratch, time, file }: ArchiveInput): void {
  const layout = path.join(scratch, 'layout');
  buildah('push', '--quiet', image, `oci:${layout}:${image}`);
  fs.writeFileSync(path.join(layout, 'manifest.json'), JSON.stringify([dockerManifest(layout, image)]));
  const order = ['--sort=name', `--mtime=@${String(time)}`, '--owner=0', '--group=0', '--numeric-owner'];
  execFileSync('tar', [...order, '--format=gnu', '-C', layout, '-cf', file, '.']);
}

function dockerManifest(layout: string, image: string): unknown {
  const readJson = (file: string): unknown => JSON.parse(fs.readFileSync(path.join(layout, file), 'utf8'));
  const blobOf = ({ digest }: Descriptor): string => `blobs/${digest.replace(':', '/')}`;
  const { manifests } = readJson('index.json') as { readonly manifests: readonly [Descriptor] };
  const { config, layers } = readJson(blobOf(manifests[0])) as ImageManifest;
  return { Config: blobOf(config), RepoTags: [image], Layers: layers.map(blobOf) };
}

interface Descriptor {
  /** As in sha256:HEX. */
  readonly digest: string;
}

interface ImageManifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

type Buildah = (...words: readonly string[]) => string;
