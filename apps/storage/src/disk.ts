import { mkdir, open, readdir, readFile, rename, rm, stat, truncate } from 'node:fs/promises';
import path from 'node:path';
import { DriverError } from '@millrace/compute';
import { floorDivide } from '@millrace/platform/money';
import { syncPath } from '@millrace/platform/files';
import { runCommand } from './command.ts';
import { exists, isMissing } from './files.ts';
import type { Folder } from './pool.ts';

// A volume is an XFS file system in a sparse file on a loop device, so its file handles are invalid elsewhere and its size is
// limited. Every step checks the state first, because a crash can happen between any two steps.

export const quickTimeoutMs = 30_000;
export const slowMs = 120_000;

export const bytesOfGb = (gb: number): number => gb * 1_073_741_824;

export const gbOf = (bytes: number): number => floorDivide(bytes, bytesOfGb(1));

/** Direct I/O on reflinked files needs 4 KiB blocks. */
const sectorBytes = 4_096;

/** The rename completes the creation; a crash before it leaves only a draft. */
export async function makeImage(folder: Folder, sizeGb: number): Promise<void> {
  const draft = `${folder.image}.new`;
  await rm(draft, { force: true });
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.truncate(bytesOfGb(sizeGb));
  } finally {
    await handle.close();
  }
  await runCommand('mkfs.xfs', ['-q', '-K', '-s', `size=${sectorBytes}`, draft], slowMs);
  await syncPath(draft);
  await rename(draft, folder.image);
  await syncPath(folder.path);
}

/** Device files, set-user-id bits and programs in a volume must have no effect on the storage node. */
export const mountOptions = 'nosuid,nodev,noexec,noatime,discard';

/** Mounts the file system if needed. XFS replays its journal after a power failure. */
export async function mountVolume(folder: Folder): Promise<void> {
  if (!(await exists(folder.image))) throw new DriverError('failed', 'The image of the volume is missing.');
  await mkdir(folder.mount, { recursive: true, mode: 0o700 });
  if (await isMounted(folder.mount)) return;
  const device = (await loopOf(folder.image)) ?? (await attachLoop(folder.image));
  // A restored image has the UUID of the image that it replaced. Containers and other programs in their own mount namespace
  // keep the replaced image mounted while they run, and without `nouuid` the kernel mounts no second image with that UUID.
  await runCommand('mount', ['-t', 'xfs', '-o', `${mountOptions},nouuid`, device, folder.mount], slowMs);
}

/** Grows the file system while it is in use; repeatable after a crash. */
export async function growVolume(folder: Folder, sizeGb: number): Promise<void> {
  const wantedBytes = bytesOfGb(sizeGb);
  const { size } = await stat(folder.image);
  if (size < wantedBytes) await truncate(folder.image, wantedBytes);
  await syncPath(folder.image);
  const device = await loopOf(folder.image);
  if (device === null) throw new DriverError('unavailable', 'The volume lost its loop device.');
  await runCommand('losetup', ['--set-capacity', device], quickTimeoutMs);
  await runCommand('xfs_growfs', [folder.mount], slowMs);
}

/** Fails if a process still uses the file system, and can be repeated. */
export async function unmountVolume(folder: Folder): Promise<void> {
  if (await isMounted(folder.mount)) await runCommand('umount', [folder.mount], slowMs);
  await detachLoop(folder.image);
}

/** Also detaches a deleted image: the kernel appends `(deleted)` to its name. */
export async function detachLoop(image: string): Promise<void> {
  for (const file of [image, `${image} (deleted)`]) {
    const device = await loopOf(file);
    if (device !== null) await runCommand('losetup', ['--detach', device], quickTimeoutMs);
  }
}

/**
 * One program freezes, copies and thaws, so the file system also thaws if the agent dies. The copy shares all blocks with the
 * image and takes milliseconds; the rename completes it.
 */
const snapshotScript = `
fsfreeze --freeze "$1" || exit 1
cp --reflink=always "$2" "$3"
copied=$?
fsfreeze --unfreeze "$1" || exit 1
exit $copied
`;

export async function copyWhileFrozen(folder: Folder, target: string): Promise<void> {
  const draft = `${target}.new`;
  await mkdir(folder.snapshots, { recursive: true, mode: 0o700 });
  await rm(draft, { force: true });
  try {
    await runCommand('sh', ['-c', snapshotScript, 'snapshot', folder.mount, folder.image, draft], slowMs);
  } catch (error) {
    await thawVolume(folder);
    throw error;
  }
  await syncPath(draft);
  await rename(draft, target);
  await syncPath(folder.snapshots);
}

/** After a crash or failure: thaws the file system and deletes unfinished copies. */
export async function thawVolume(folder: Folder): Promise<void> {
  if (await isMounted(folder.mount)) {
    await runCommand('fsfreeze', ['--unfreeze', folder.mount], quickTimeoutMs).catch(() => {
      // The file system was not frozen.
    });
  }
  for (const name of await readdir(folder.snapshots).catch(() => [])) {
    if (name.endsWith('.new')) await rm(path.join(folder.snapshots, name), { force: true });
  }
}

export async function snapshotIds(folder: Folder): Promise<string[]> {
  try {
    const names = await readdir(folder.snapshots);
    return names.filter((name) => name.endsWith('.img')).map((name) => name.slice(0, -'.img'.length));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Allocated bytes of a sparse file. */
export async function usedBytes(file: string): Promise<number> {
  const blockBytes = 512;
  return (await stat(file)).blocks * blockBytes;
}

export async function isMounted(folder: string): Promise<boolean> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return table.split('\n').some((line) => line.split(' ')[4] === folder);
}

/** The loop device of the image, also if an earlier process attached it. */
async function loopOf(image: string): Promise<string | null> {
  for (const name of await readdir('/sys/block')) {
    if (!name.startsWith('loop')) continue;
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '');
    if (file.trimEnd() === image) return `/dev/${name}`;
  }
  return null;
}

export async function attachLoop(image: string): Promise<string> {
  // A file system cannot be mounted on a device with larger sectors than its own. Older images have smaller sectors and are
  // mounted without direct I/O.
  const sectors = ['--sector-size', String(await sectorsOf(image))];
  const args = ['--find', '--show', '--nooverlap', '--direct-io=on', ...sectors, image];
  return (await runCommand('losetup', args, quickTimeoutMs)).trim();
}

/** Sector size of the file system, from its superblock. */
async function sectorsOf(image: string): Promise<number> {
  const offset = 102;
  const handle = await open(image, 'r');
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, offset);
    const bytes = buffer.readUInt16BE(0);
    return bytes >= 512 && bytes <= sectorBytes ? bytes : sectorBytes;
  } finally {
    await handle.close();
  }
}
