import type { Tx } from '@millrace/platform/db';
import { billSize, releaseHold } from '../money/volume-billing.service.ts';
import { bumpSpecVersion } from '../model/volume-transitions.ts';
import type { Volume } from '../model/volume.ts';
import { saveVolume } from '../model/volumes.store.ts';

export async function applyGrowth(tx: Tx, volume: Volume): Promise<Volume> {
  const { growth } = volume;
  if (growth === null) return volume;
  const now = tx.clock.now();
  await billSize(tx, volume, growth, now);
  return saveVolume(tx, volume, {
    sizeGb: growth.toGb,
    price: growth.price,
    growth: null,
    statusReason: null,
    updatedAt: now,
  });
}

/** The volume keeps its size, and the hold for the growth is released. */
export async function cancelGrowth(tx: Tx, volume: Volume, why: string): Promise<Volume> {
  if (volume.growth === null) return volume;
  await releaseHold(tx, volume, volume.growth.holdId);
  const now = tx.clock.now();
  return saveVolume(tx, volume, {
    growth: null,
    statusReason: why.slice(0, REASON_MAX),
    updatedAt: now,
    ...bumpSpecVersion(volume, now),
  });
}

const REASON_MAX = 1_000;
