import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { DriverError } from '@millrace/compute';
import type { Clock } from '@millrace/platform/clock';
import { syncPath } from '@millrace/platform/files';
import { runCommand } from './command.ts';
import {
  attachLoop,
  detachLoop,
  gbOf,
  isMounted,
  mountOptions,
  quickTimeoutMs,
  slowMs,
  unmountVolume,
} from './disk.ts';
import { exists } from './files.ts';
import { stopServer } from './ganesha.ts';
import type { Pool, Folder } from './pool.ts';
import { writeRecord, type VolumeRecord } from './record.ts';

// Restores a snapshot: a complete image is written beside the current one before the record commits the restore. After the commit
// this or the next process replaces the image; before it, the volume is unchanged and the new image is deleted.

/** Number of restore ids kept, so that a delayed request is not restored again. */
const maxRememberedRestores = 32;

const finishedImagePath = (folder: Folder, id: string): string => path.join(folder.restores, `${id}.img`);

/** Creates the image of the requested restore and commits it in the record. */
export async function commitRestore(pool: Pool, folder: Folder, record: VolumeRecord): Promise<VolumeRecord> {
  const { restore } = record;
  if (restore === null) return record;
  const source = pool.snapshot(restore.volumeId, restore.snapshotId);
  if (!(await exists(source))) throw new DriverError('refused', 'The snapshot does not exist.');
  const target = finishedImagePath(folder, restore.id);
  const draft = `${target}.new`;
  await mkdir(folder.restores, { recursive: true, mode: 0o700 });
  await deleteDrafts(folder);
  // The copy shares all blocks with the snapshot, so it uses no space until the volume is written to.
  await runCommand('cp', ['--reflink=always', source, draft], slowMs);
  if (restore.volumeId !== folder.id) await assignFileSystemUuid(folder, draft);
  await syncPath(draft);
  await rename(draft, target);
  await syncPath(folder.restores);
  const decided: VolumeRecord = {
    ...record,
    madeGb: gbOf((await stat(target)).size),
    restore: null,
    restored: [...record.restored, restore.id].slice(-maxRememberedRestores),
  };
  await writeRecord(folder, decided);
  return decided;
}

/** Moves the image of the last committed restore into place, and deletes uncommitted images. */
export async function finishRestore(folder: Folder, record: VolumeRecord, clock: Clock): Promise<void> {
  const last = record.restored.at(-1);
  const image = last === undefined ? null : finishedImagePath(folder, last);
  if (image !== null && (await exists(image))) {
    // No server may have the old file system open when its image is replaced.
    await stopServer(folder, clock);
    await unmountVolume(folder);
    await rename(image, folder.image);
    await syncPath(folder.path);
    await syncPath(folder.restores);
  }
  await deleteDrafts(folder);
  await rm(folder.restores, { recursive: true, force: true });
}

/**
 * File handles contain the UUID of their file system, so a copy for another volume needs its own. Mounting it once replays the
 * journal, which `xfs_admin` requires.
 */
async function assignFileSystemUuid(folder: Folder, draft: string): Promise<void> {
  const mount = draftMount(folder);
  await mkdir(mount, { recursive: true, mode: 0o700 });
  const device = await attachLoop(draft);
  try {
    await runCommand('mount', ['-t', 'xfs', '-o', `${mountOptions},nouuid`, device, mount], slowMs);
    await runCommand('umount', [mount], slowMs);
  } finally {
    await unmountDraft(folder);
    await detachLoop(draft);
  }
  await runCommand('xfs_admin', ['-f', '-U', 'generate', draft], slowMs);
}

const draftMount = (folder: Folder): string => path.join(folder.path, 'restore-mount');

async function unmountDraft(folder: Folder): Promise<void> {
  if (await isMounted(draftMount(folder))) await runCommand('umount', [draftMount(folder)], quickTimeoutMs);
}

/** Deletes unfinished images with the mounts and devices that a crash left behind. */
export async function deleteDrafts(folder: Folder): Promise<void> {
  await unmountDraft(folder);
  for (const name of await readdir(folder.restores).catch(() => [])) {
    if (!name.endsWith('.new')) continue;
    const draft = path.join(folder.restores, name);
    await detachLoop(draft);
    await rm(draft, { force: true });
  }
}
