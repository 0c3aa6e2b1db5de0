import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { nanoUsd } from '@millrace/platform/money';
import { appendAuditEntry, authorizeCaller, type ApiKey, type CallContext } from '../../identity/index.ts';
import { rateOf, volumePriceFor } from '../../prices/index.ts';
import { requireVolumeAction } from './attach-rules.ts';
import { lockOwnVolume } from './attach.service.ts';
import { requireFreeLabel, requireWithinKeySpendOfVolume } from './create.service.ts';
import { holdForVolume } from '../money/volume-billing.service.ts';
import { bumpSpecVersion } from '../model/volume-transitions.ts';
import { emptyUsage } from '../model/storage-nodes.ts';
import { lockStorageNodes, readNodeUsage } from '../model/storage-nodes.store.ts';
import { defaultVolumePolicy } from '../model/policy.ts';
import { volumeResourceOf, type Growth, type Volume, type VolumeChanges } from '../model/volume.ts';
import { findVolume, saveVolume } from '../model/volumes.store.ts';

export interface VolumeUpdate {
  readonly label?: string | undefined;
  readonly sizeInGb?: number | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** A new size is billed once the backend confirmed it. Lock order: organisation, storage node, volume, ledger. */
export async function updateVolume(
  tx: Tx,
  call: CallContext,
  wireId: number,
  update: VolumeUpdate,
): Promise<Volume> {
  const { key } = await authorizeCaller(tx, call, 'volumes:write');
  const { orgId, cause } = call;
  const owner = { orgId, mode: key.mode };
  // The sold size of a node is counted under its lock, which comes before that of the volume.
  const seen = await findVolume(tx, owner, wireId);
  if (seen !== null && update.sizeInGb !== undefined) await lockStorageNodes(tx, { id: seen.nodeId });
  const volume = await lockOwnVolume(tx, owner, wireId);
  requireVolumeAction(volume, 'update');
  const { label, tags, sizeInGb } = update;
  if (label !== undefined && label !== volume.label) await requireFreeLabel(tx, owner, label);
  const growth = sizeInGb === undefined ? null : await planGrowth(tx, key, volume, sizeInGb);
  const changes: VolumeChanges = {
    ...(label === undefined || label === volume.label ? {} : { label }),
    ...(tags === undefined ? {} : { tags }),
    ...(growth === null ? {} : { growth, ...bumpSpecVersion(volume, tx.clock.now()) }),
  };
  if (Object.keys(changes).length === 0) return volume;
  const changed = await saveVolume(tx, volume, { updatedAt: tx.clock.now(), ...changes });
  await appendAuditEntry(tx, orgId, cause, {
    action: 'volume.changed',
    resource: volumeResourceOf(volume),
    before: { label: volume.label, tags: volume.tags, sizeGb: volume.sizeGb },
    after: { label: changed.label, tags: changed.tags, sizeGb: growth?.toGb ?? changed.sizeGb },
  });
  return changed;
}

/** Null if the volume has that size or is growing to it. */
async function planGrowth(tx: Tx, key: ApiKey, volume: Volume, toGb: number): Promise<Growth | null> {
  if (volume.growth !== null) {
    if (volume.growth.toGb === toGb) return null;
    throw new Fault('ACTION_IN_PROGRESS', { message: `The volume is growing to ${volume.growth.toGb} GB.` });
  }
  if (toGb === volume.sizeGb) return null;
  if (toGb < volume.sizeGb) throw new Fault('VOLUME_SHRINK_NOT_SUPPORTED');
  const now = tx.clock.now();
  const { orgId, mode, region } = volume;
  const price = await volumePriceFor(tx, orgId, mode, { region, sizeGb: toGb, now });
  await requireWithinKeySpendOfVolume(tx, key, volume, nanoUsd(rateOf(price) - rateOf(volume.price)));
  await requireNodeCapacity(tx, volume, toGb - volume.sizeGb);
  const step = `grow:${volume.version}:${toGb}`;
  return {
    toGb,
    price,
    holdId: await holdForVolume(tx, volume, { step, price }),
    by: new Date(now.getTime() + defaultVolumePolicy.changeMs),
  };
}

export async function requireNodeCapacity(tx: Tx, { nodeId }: Volume, moreGb: number): Promise<void> {
  const [node] = await lockStorageNodes(tx, { id: nodeId });
  const { soldGb } = (await readNodeUsage(tx, [nodeId])).get(nodeId) ?? emptyUsage;
  if (node === undefined || node.capacityGb - soldGb < moreGb) {
    throw new Fault('INSUFFICIENT_CAPACITY', {
      message: 'The storage node of this volume has not enough free space right now.',
      suggestion: 'Try a smaller size, or create another volume.',
    });
  }
}
