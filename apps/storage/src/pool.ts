import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, realpath, rm, statfs, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { checkVolumeId } from '@millrace/storage/wire';

export interface Folder {
  readonly id: string;
  readonly path: string;
  readonly record: string;
  readonly image: string;
  readonly mount: string;
  readonly snapshots: string;
  /** Images made from snapshots, until they replace the volume's image. */
  readonly restores: string;
  /** Configuration, log, pid and client state of the NFS server. */
  readonly config: string;
  readonly log: string;
  readonly pid: string;
  readonly recovery: string;
}

/** The folder with all volumes of this node. */
export interface Pool {
  volume(id: string): Folder;
  snapshot(id: string, snapshotId: string): string;
  /** Target to which a volume's folder is renamed before it is deleted; `name` must be unique. */
  leaving(name: string): string;
  ids(): Promise<string[]>;
  totalBytes(): Promise<number>;
  close(): Promise<void>;
}

/** Paths become part of a configuration file and of the mount table, so special characters are refused. */
const plainPath = /^(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)+$/;

/** Opens the pool exclusively. */
export async function openPool(given: string): Promise<Pool> {
  const root = await realpath(given);
  if (!plainPath.test(root))
    throw new Error(`The pool path ${root} contains characters other than letters, digits and ._-`);
  await chmod(root, 0o700);
  const lock = await lockPool(root);
  try {
    await assertReflink(root);
    const [volumes, leaving] = [path.join(root, 'volumes'), path.join(root, 'leaving')];
    await mkdir(volumes, { recursive: true, mode: 0o700 });
    // Completes removals that a crash interrupted.
    await rm(leaving, { recursive: true, force: true });
    await mkdir(leaving, { mode: 0o700 });
    const volume = (id: string): Folder => folderOf(volumes, id);
    return {
      volume,
      snapshot: (id, snapshotId) => {
        checkVolumeId(snapshotId);
        return path.join(volume(id).snapshots, `${snapshotId}.img`);
      },
      leaving: (name) => path.join(leaving, name),
      ids: async () => (await readdir(volumes)).filter(isVolumeId).toSorted(),
      totalBytes: async () => {
        const { blocks, bsize } = await statfs(root);
        return blocks * bsize;
      },
      close: () => unlock(lock),
    };
  } catch (error) {
    await unlock(lock);
    throw error;
  }
}

function folderOf(volumes: string, id: string): Folder {
  // Last check before an id becomes a path.
  checkVolumeId(id);
  const folder = path.join(volumes, id);
  return {
    id,
    path: folder,
    record: path.join(folder, 'volume.json'),
    image: path.join(folder, 'volume.img'),
    mount: path.join(folder, 'mount'),
    snapshots: path.join(folder, 'snapshots'),
    restores: path.join(folder, 'restores'),
    config: path.join(folder, 'ganesha.conf'),
    log: path.join(folder, 'ganesha.log'),
    pid: path.join(folder, 'ganesha.pid'),
    recovery: path.join(folder, 'recovery'),
  };
}

function isVolumeId(name: string): boolean {
  try {
    checkVolumeId(name);
    return true;
  } catch {
    return false;
  }
}

/** The kernel releases the abstract socket with its process. Two agents on one pool would undo each other's work. */
async function lockPool(root: string): Promise<Server> {
  const name = createHash('sha256').update(root).digest('hex').slice(0, 32);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new Error(`Another agent uses the pool ${root}.`, { cause: error })),
    );
    server.listen({ path: `\0millrace-storage-${name}` }, resolve);
  });
  server.unref();
  return server;
}

async function unlock(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

/** Snapshots share blocks with their volume, which not every file system supports. */
async function assertReflink(root: string): Promise<void> {
  const [source, copy] = [path.join(root, '.reflink'), path.join(root, '.reflink-copy')];
  try {
    await writeFile(source, 'x'.repeat(4_096));
    await copyFile(source, copy, constants.COPYFILE_FICLONE_FORCE);
  } catch (error) {
    throw new Error(
      `The file system of ${root} cannot share blocks between files; use XFS created with reflink=1.`,
      { cause: error },
    );
  } finally {
    await rm(source, { force: true });
    await rm(copy, { force: true });
  }
}
