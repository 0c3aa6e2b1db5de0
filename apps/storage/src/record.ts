import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { isMissing, replaceFile } from './files.ts';
import type { Folder } from './pool.ts';

const shape = z.strictObject({
  externalId: z.string(),
  orgId: z.string().transform((text) => text as `org_${string}`),
  /** The size that the tenant pays for. */
  sizeGb: z.int(),
  /** The size of the file system; 0 before it exists. */
  madeGb: z.int().min(0),
  vip: z.string(),
  clients: z.array(z.string()),
  /** Increases with each change of vip or clients, so that a probe can find out which list the server uses. */
  generation: z.int().min(1),
  /** Sequence of the newest accepted spec, or 0 if the caller sends none. */
  sequence: z.int().min(0),
  /** The requested restore; null after completion or cancellation. */
  restore: z
    .strictObject({ id: z.string(), volumeId: z.string(), snapshotId: z.string() })
    .nullable()
    .default(null),
  /**
   * Ids of completed restores, newest last. Writing an id here commits the restore: its image is complete and replaces the old
   * one before any other work on the volume.
   */
  restored: z.array(z.string()).default([]),
  /** The volume is being removed, which cannot be undone. */
  isLeaving: z.boolean(),
});

/** The stored spec of a volume and how far it is applied. */
export type VolumeRecord = z.output<typeof shape>;

/** Null if it does not exist. An unreadable record throws, so that nothing replaces it. */
export async function readRecord(folder: Folder): Promise<VolumeRecord | null> {
  let text: string;
  try {
    text = await readFile(folder.record, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  const record = shape.parse(JSON.parse(text));
  if (record.externalId !== folder.id)
    throw new Error(`The record of ${folder.id} belongs to ${record.externalId}.`);
  return record;
}

export async function writeRecord(folder: Folder, record: VolumeRecord): Promise<void> {
  await replaceFile(folder.record, `${JSON.stringify(record, null, 2)}\n`);
}
