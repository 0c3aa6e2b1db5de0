import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { isMissing, replaceFile } from './files.ts';
import type { Folder } from './pool.ts';

const shape = z.strictObject({
  externalId: z.string(),
  orgId: z.string().transform((text) => text as `org_${string}`),
  /** What is promised to the tenant. */
  sizeGb: z.int(),
  /** How far the file system has come; 0 before there is one. */
  madeGb: z.int().min(0),
  vip: z.string(),
  clients: z.array(z.string()),
  /** Counts up with each change of the two above, so that a server can be asked which of them it follows. */
  generation: z.int().min(1),
  /** Of the newest wish that was heard, as far as its caller counts them. */
  sequence: z.int().min(0),
  /** What is to be restored into it; null once that is done, or no longer asked for. */
  restore: z
    .strictObject({ id: z.string(), volumeId: z.string(), snapshotId: z.string() })
    .nullable()
    .default(null),
  /**
   * The restores that were done, by their ids, newest last. Writing one down decides it: its image is complete and takes the
   * place of the old one before anything else is done with the volume.
   */
  restored: z.array(z.string()).default([]),
  /** It is being removed, and nothing brings it back. */
  isLeaving: z.boolean(),
});

/** What this node knows of a volume: what was asked for last, and how far that has come. */
export type VolumeRecord = z.output<typeof shape>;

/** Null if there is none. One that cannot be read is an error: nothing may be made in its place. */
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
    throw new Error(`The record of ${folder.id} is of ${record.externalId}.`);
  return record;
}

export async function writeRecord(folder: Folder, record: VolumeRecord): Promise<void> {
  await replaceFile(folder.record, `${JSON.stringify(record, null, 2)}\n`);
}
