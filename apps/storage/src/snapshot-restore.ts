import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { DriverError } from '@millrace/compute';
import type { Clock } from '@millrace/platform/clock';
import { runCommand } from './command.ts';
import {
  attachLoop,
  detachLoop,
  gbOf,
  isMounted,
  mountOptions,
  quickTimeoutMs,
  slowMs,
  sync,
  unmountVolume,
} from './disk.ts';
import { exists, syncFolder } from './files.ts';
import { stopServer } from './ganesha.ts';
import type { Pool, Folder } from './pool.ts';
import { writeRecord, type VolumeRecord } from './record.ts';

// Restoring a snapshot. The image is made beside the present one and is complete and on disk before the record says that the
// restore was done. From then on the image takes the place of the present one, in this process or in the next. Before, nothing of
// the volume has changed, and what was made is dropped.

/** This many are remembered, so that a delayed order is not taken for a new one. */
const maxRememberedRestores = 32;

const finishedImagePath = (folder: Folder, id: string): string => path.join(folder.restores, `${id}.img`);

/** Makes the image of the restore that the record asks for, and writes down that it was done. */
export async function commitRestore(pool: Pool, folder: Folder, record: VolumeRecord): Promise<VolumeRecord> {
  const { restore } = record;
  if (restore === null) return record;
  const source = pool.snapshot(restore.volumeId, restore.snapshotId);
  if (!(await exists(source))) throw new DriverError('refused', 'The snapshot is not there.');
  const target = finishedImagePath(folder, restore.id);
  const draft = `${target}.new`;
  await mkdir(folder.restores, { recursive: true, mode: 0o700 });
  await deleteDrafts(folder);
  // It shares all blocks with the snapshot: nothing is copied, and it takes no room until the volume is written to.
  await runCommand('cp', ['--reflink=always', source, draft], slowMs);
  if (restore.volumeId !== folder.id) await assignFileSystemUuid(folder, draft);
  await sync(draft);
  await rename(draft, target);
  await syncFolder(folder.restores);
  const decided: VolumeRecord = {
    ...record,
    madeGb: gbOf((await stat(target)).size),
    restore: null,
    restored: [...record.restored, restore.id].slice(-maxRememberedRestores),
  };
  await writeRecord(folder, decided);
  return decided;
}

/** Puts the image of the restore that was done last in place, if it is not yet; one that was not decided is dropped. */
export async function finishRestore(folder: Folder, record: VolumeRecord, clock: Clock): Promise<void> {
  const last = record.restored.at(-1);
  const image = last === undefined ? null : finishedImagePath(folder, last);
  if (image !== null && (await exists(image))) {
    // No server has the old file system open when the new one takes its place.
    await stopServer(folder, clock);
    await unmountVolume(folder);
    await rename(image, folder.image);
    await syncFolder(folder.path);
    await syncFolder(folder.restores);
  }
  await deleteDrafts(folder);
  await rm(folder.restores, { recursive: true, force: true });
}

/**
 * Handles of files hold the identity of their file system, so the copy gets another than the volume that it comes from. Its
 * journal is replayed first, by mounting it once.
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

/** Drops images that were not finished, with what a crash left of their making. */
export async function deleteDrafts(folder: Folder): Promise<void> {
  await unmountDraft(folder);
  for (const name of await readdir(folder.restores).catch(() => [])) {
    if (!name.endsWith('.new')) continue;
    const draft = path.join(folder.restores, name);
    await detachLoop(draft);
    await rm(draft, { force: true });
  }
}
