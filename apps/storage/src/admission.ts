import { mkdir, stat } from 'node:fs/promises';
import { DriverError } from '@millrace/compute';
import type { Timer } from '@millrace/platform/clock';
import type { VolumeSpec } from '@millrace/storage';
import { bytesOfGb, gbOf, snapshotIds, usedBytes } from './disk.ts';
import { isMissing } from './files.ts';
import type { Pool, Folder } from './pool.ts';
import { readRecord, writeRecord, type VolumeRecord } from './record.ts';
import { KeyedQueue } from './keyed-queue.ts';

// What may be on this node together.

/** Decisions about room are short and of all volumes, so as many wait as there are orders. */
const maxQueuedDecisions = 128;

/** The file system of the pool needs some of it for itself. */
const usableFraction = 0.98;

export interface VolumeEntry {
  readonly folder: Folder;
  readonly record: VolumeRecord | null;
  /** Why there is no record. */
  readonly why: string;
}

export async function readAllVolumes(pool: Pool): Promise<VolumeEntry[]> {
  const all = (await pool.ids()).map(async (id) => {
    const folder = pool.volume(id);
    try {
      return { folder, record: await readRecord(folder), why: 'It was never made.' };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { folder, record: null, why: `Its record cannot be read: ${why}` };
    }
  });
  return Promise.all(all);
}

/**
 * Decides about room one after the other, and waits for nobody's copying: how long that takes is in the hands of who writes
 * to the volume, and orders for other volumes, such as to keep a machine out, come first.
 */
export class Admission {
  readonly #pool: Pool;
  readonly #turns: KeyedQueue;
  /** What snapshots that are being taken need, by their file. Those that are there count by what they take. */
  readonly #coming = new Map<string, number>();

  constructor(pool: Pool, clock: Timer) {
    this.#pool = pool;
    this.#turns = new KeyedQueue({ clock, mostWaiting: maxQueuedDecisions });
  }

  admit(spec: VolumeSpec): Promise<VolumeRecord> {
    return this.#turns.take('room', () => admit(this.#pool, spec, this.#comingBytes()));
  }

  /** Has the volume copied to the target, if there is room for that. */
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

/** Refuses to promise more than there is: what is promised can be written to its last byte, whatever others do. */
async function assertCapacity(pool: Pool, moreBytes: number): Promise<void> {
  let promised = moreBytes;
  for (const { folder, record } of await readAllVolumes(pool)) {
    promised += record === null ? await sizeOf(folder.image) : bytesOfGb(record.sizeGb);
    // In the worst case a snapshot shares nothing with its volume any more.
    for (const id of await snapshotIds(folder)) promised += await usedBytes(pool.snapshot(folder.id, id));
  }
  const has = Math.floor((await pool.totalBytes()) * usableFraction);
  if (promised > has) {
    throw new DriverError(
      'no_capacity',
      `The node has ${has} bytes for volumes and snapshots, and would promise ${promised}.`,
    );
  }
}

/** What an image may come to take. */
async function sizeOf(image: string): Promise<number> {
  try {
    return (await stat(image)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

/** Checks a wish against everything else on the node and writes it down; from then on it is what should be. */
async function admit(pool: Pool, spec: VolumeSpec, comingBytes: number): Promise<VolumeRecord> {
  const { externalId, orgId, sizeGb, vip } = spec;
  const folder = pool.volume(externalId);
  const known = await readRecord(folder);
  if (known?.isLeaving === true) throw new DriverError('busy', 'The volume is being removed.');
  if (known !== null && known.orgId !== orgId)
    throw new DriverError('conflict', 'A volume of this id belongs to another organisation.');
  if (known !== null && sizeGb < known.sizeGb)
    throw new DriverError('refused', `The volume has ${known.sizeGb} GB, and a volume does not shrink.`);
  const others = (await readAllVolumes(pool)).filter(({ folder: { id } }) => id !== externalId);
  if (others.some(({ record }) => record?.vip === vip))
    throw new DriverError('conflict', `The address ${vip} belongs to another volume.`);
  const sequence = spec.sequence ?? known?.sequence ?? 0;
  if (sequence < (known?.sequence ?? 0))
    throw new DriverError('busy', 'A newer wish for the volume is known.');
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

/** The restore that is still to be done. An order without a restore cancels one that was not done yet. */
async function pendingRestore(
  pool: Pool,
  { orgId, sizeGb, restore }: VolumeSpec,
  known: VolumeRecord | null,
): Promise<VolumeRecord['restore']> {
  if (restore === undefined || known?.restored.includes(restore.id) === true) return null;
  const source = await readRecord(pool.volume(restore.volumeId));
  const image = pool.snapshot(restore.volumeId, restore.snapshotId);
  const bytes = source?.orgId === orgId ? await sizeOf(image) : 0;
  if (bytes === 0) throw new DriverError('refused', 'The organisation has no such snapshot on this node.');
  if (bytes > bytesOfGb(sizeGb))
    throw new DriverError(
      'refused',
      `The snapshot is of a volume of ${gbOf(bytes)} GB, and a volume does not shrink.`,
    );
  return { ...restore };
}
