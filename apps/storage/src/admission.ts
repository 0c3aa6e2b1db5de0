import { mkdir, stat } from 'node:fs/promises';
import { DriverError } from '@millrace/compute';
import type { Timer } from '@millrace/platform/clock';
import type { VolumeSpec } from '@millrace/storage';
import { bytesOfGb, gbOf, snapshotIds, usedBytes } from './disk.ts';
import { isMissing } from './files.ts';
import type { Pool, Folder } from './pool.ts';
import { readRecord, writeRecord, type VolumeRecord } from './record.ts';
import { KeyedQueue } from './keyed-queue.ts';

// Decides whether volumes and snapshots fit on this node together.

/** Capacity decisions are short and concern all volumes, so the queue holds as many as there can be requests. */
const maxQueuedDecisions = 128;

/** The file system of the pool needs the rest for its metadata. */
const usableFraction = 0.98;

export interface VolumeEntry {
  readonly folder: Folder;
  readonly record: VolumeRecord | null;
  /** Why `record` is null. */
  readonly why: string;
}

export async function readAllVolumes(pool: Pool): Promise<VolumeEntry[]> {
  const all = (await pool.ids()).map(async (id) => {
    const folder = pool.volume(id);
    try {
      return { folder, record: await readRecord(folder), why: 'The volume has no record.' };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { folder, record: null, why: `The record of the volume cannot be read: ${why}` };
    }
  });
  return Promise.all(all);
}

/**
 * Makes capacity decisions one at a time, without waiting for copies. A tenant that writes to its volume could delay a copy, and
 * must not delay requests for other volumes, such as removing a client.
 */
export class Admission {
  readonly #pool: Pool;
  readonly #turns: KeyedQueue;
  /** Bytes needed by snapshots in progress, by file. Existing snapshots count by their actual size. */
  readonly #coming = new Map<string, number>();

  constructor(pool: Pool, clock: Timer) {
    this.#pool = pool;
    this.#turns = new KeyedQueue({ clock, mostWaiting: maxQueuedDecisions });
  }

  admit(spec: VolumeSpec): Promise<VolumeRecord> {
    return this.#turns.take('room', () => admit(this.#pool, spec, this.#comingBytes()));
  }

  /** Runs `copy` if the node has capacity for the snapshot. */
  async snapshot({ image }: Folder, target: string, copy: () => Promise<void>): Promise<void> {
    await this.#turns.take('room', async () => {
      const bytes = await usedBytes(image);
      await assertCapacity(this.#pool, this.#comingBytes() + bytes);
      this.#coming.set(target, bytes);
    });
    try {
      await copy();
    } finally {
      this.#coming.delete(target);
    }
  }

  #comingBytes(): number {
    return [...this.#coming.values()].reduce((sum, bytes) => sum + bytes, 0);
  }
}

/** Nothing is overcommitted: every volume can be filled to its size, whatever other tenants do. */
async function assertCapacity(pool: Pool, moreBytes: number): Promise<void> {
  let promised = moreBytes;
  for (const { folder, record } of await readAllVolumes(pool)) {
    promised += record === null ? await sizeOf(folder.image) : bytesOfGb(record.sizeGb);
    // In the worst case a snapshot shares no blocks with its volume.
    for (const id of await snapshotIds(folder)) promised += await usedBytes(pool.snapshot(folder.id, id));
  }
  const has = Math.floor((await pool.totalBytes()) * usableFraction);
  if (promised > has) {
    throw new DriverError(
      'no_capacity',
      `The node has ${has} bytes for volumes and snapshots; this request would need ${promised}.`,
    );
  }
}

/** The size to which a sparse image can grow. */
async function sizeOf(image: string): Promise<number> {
  try {
    return (await stat(image)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

/** Checks a spec against all volumes of the node and stores it as the desired state. */
async function admit(pool: Pool, spec: VolumeSpec, comingBytes: number): Promise<VolumeRecord> {
  const { externalId, orgId, sizeGb, vip } = spec;
  const folder = pool.volume(externalId);
  const known = await readRecord(folder);
  if (known?.isLeaving === true) throw new DriverError('busy', 'The volume is being removed.');
  if (known !== null && known.orgId !== orgId)
    throw new DriverError('conflict', 'A volume with this id belongs to another organisation.');
  if (known !== null && sizeGb < known.sizeGb)
    throw new DriverError('refused', `The volume has ${known.sizeGb} GB and cannot shrink.`);
  const others = (await readAllVolumes(pool)).filter(({ folder: { id } }) => id !== externalId);
  if (others.some(({ record }) => record?.vip === vip))
    throw new DriverError('conflict', `The address ${vip} belongs to another volume.`);
  const sequence = spec.sequence ?? known?.sequence ?? 0;
  if (sequence < (known?.sequence ?? 0))
    throw new DriverError('busy', 'The node has already accepted a newer spec for the volume.');
  const moreGb = sizeGb - (known?.sizeGb ?? 0);
  if (moreGb > 0) await assertCapacity(pool, comingBytes + bytesOfGb(moreGb));

  const restore = await pendingRestore(pool, spec, known);
  const clients = spec.clients.toSorted();
  const isSameList = known?.vip === vip && known.clients.join() === clients.join();
  const isSameRestore = known?.restore?.id === restore?.id;
  if (known !== null && isSameList && isSameRestore && moreGb === 0 && known.sequence === sequence)
    return known;
  const record: VolumeRecord = {
    ...{ externalId, orgId, sizeGb, vip, clients },
    madeGb: known?.madeGb ?? 0,
    generation: isSameList ? known.generation : (known?.generation ?? 0) + 1,
    sequence,
    restore,
    restored: known?.restored ?? [],
    isLeaving: false,
  };
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  await writeRecord(folder, record);
  return record;
}

/** A spec without a restore cancels a restore that is not complete. */
async function pendingRestore(
  pool: Pool,
  { orgId, sizeGb, restore }: VolumeSpec,
  known: VolumeRecord | null,
): Promise<VolumeRecord['restore']> {
  if (restore === undefined || known?.restored.includes(restore.id) === true) return null;
  const source = await readRecord(pool.volume(restore.volumeId));
  const image = pool.snapshot(restore.volumeId, restore.snapshotId);
  const bytes = source?.orgId === orgId ? await sizeOf(image) : 0;
  if (bytes === 0)
    throw new DriverError('refused', 'The organisation has no snapshot with this id on this node.');
  if (bytes > bytesOfGb(sizeGb))
    throw new DriverError('refused', `The snapshot has ${gbOf(bytes)} GB, more than the volume.`);
  return { ...restore };
}
