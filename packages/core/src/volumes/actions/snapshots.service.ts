import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { SnapshotId } from '@millrace/platform/ids';
import { appendAuditEntry, authorizeCaller, type CallContext } from '../../identity/index.ts';
import { rateOf, volumePriceFor } from '../../prices/index.ts';
import { requireVolumeAction } from './attach-rules.ts';
import { lockOwnVolume } from './attach.service.ts';
import { requireWithinKeySpendOfVolume } from './create.service.ts';
import { releaseHold, stopSnapshotBilling, holdForVolume } from '../money/volume-billing.service.ts';
import { lockStorageNodes } from '../model/storage-nodes.store.ts';
import { defaultVolumePolicy } from '../model/policy.ts';
import {
  findSnapshot,
  insertSnapshot,
  listRestoresFrom,
  listSnapshots,
  saveSnapshot,
} from '../model/snapshots.store.ts';
import { requireNodeCapacity } from './update.service.ts';
import { volumeResourceOf, type Snapshot, type Volume } from '../model/volume.ts';
import { findVolume, saveVolume } from '../model/volumes.store.ts';

export const SNAPSHOTS_MAX = 100;

/** Holds money for the maximum size; bills the actual size. Lock order: organisation, storage node, volume, ledger. */
export async function createSnapshot(
  tx: Tx,
  call: CallContext,
  wireId: number,
  label: string | undefined,
): Promise<Snapshot> {
  const { key } = await authorizeCaller(tx, call, 'volumes:write');
  const { orgId, cause } = call;
  const owner = { orgId, mode: key.mode };
  const seen = await findVolume(tx, owner, wireId);
  if (seen !== null) await lockStorageNodes(tx, { id: seen.nodeId });
  const volume = await lockOwnVolume(tx, owner, wireId);
  requireVolumeAction(volume, 'snapshot');
  const others = await listSnapshots(tx, volume);
  if (others.length >= SNAPSHOTS_MAX) {
    throw new Fault('QUOTA_EXCEEDED', {
      message: `A volume can have at most ${SNAPSHOTS_MAX} snapshots.`,
      suggestion: 'Delete a snapshot that you no longer need.',
    });
  }
  const now = tx.clock.now();
  const { mode, region, sizeGb } = volume;
  const price = await volumePriceFor(tx, orgId, mode, { region, sizeGb, now });
  await requireWithinKeySpendOfVolume(tx, key, volume, rateOf(price));
  await requireNodeCapacity(tx, volume, sizeGb);
  const id = tx.ids.next('snp');
  const snapshot: Snapshot = {
    id,
    volumeId: volume.id,
    orgId,
    mode,
    label: label ?? volume.label,
    sizeGb,
    volumeGb: sizeGb,
    price,
    holdId: await holdForVolume(tx, volume, { step: `snapshot:${id}`, price }),
    status: 'creating',
    createdAt: now,
    makeBy: new Date(now.getTime() + defaultVolumePolicy.changeMs),
    tries: 0,
  };
  await insertSnapshot(tx, orgId, snapshot);
  await saveVolume(tx, volume, { nextActionAt: now });
  await appendAuditEntry(tx, orgId, cause, {
    action: 'snapshot.created',
    resource: volumeResourceOf(volume),
    after: { snapshotId: id, label: snapshot.label },
  });
  return snapshot;
}

async function requireSnapshotUnused(tx: Tx, volume: Volume, id: SnapshotId): Promise<void> {
  const into = (await listRestoresFrom(tx, volume)).find(({ snapshotId }) => snapshotId === id);
  if (into === undefined) return;
  throw new Fault('SNAPSHOT_IN_USE', {
    message: `The snapshot is being restored into volume ${into.wireId}.`,
  });
}

/** Billing stops at once; the backend deletes the data as soon as possible. Idempotent. */
export async function deleteSnapshot(
  tx: Tx,
  call: CallContext,
  wireId: number,
  id: SnapshotId,
): Promise<void> {
  const { key } = await authorizeCaller(tx, call, 'volumes:write');
  const { orgId, cause } = call;
  const owner = { orgId, mode: key.mode };
  const seen = await findVolume(tx, owner, wireId);
  // Volumes of others are reported as missing snapshots.
  if (seen === null) throw new Fault('SNAPSHOT_NOT_FOUND');
  const volume = await lockOwnVolume(tx, owner, wireId);
  const snapshot = await findSnapshot(tx, orgId, volume.id, id);
  if (snapshot === null) throw new Fault('SNAPSHOT_NOT_FOUND');
  if (snapshot.status === 'deleting') return;
  requireVolumeAction(volume, 'snapshot');
  await requireSnapshotUnused(tx, volume, id);
  const now = tx.clock.now();
  await releaseHold(tx, volume, snapshot.holdId);
  await stopSnapshotBilling(tx, volume, snapshot, now);
  await saveSnapshot(tx, orgId, snapshot, { status: 'deleting', holdId: null });
  await saveVolume(tx, volume, { nextActionAt: now });
  await appendAuditEntry(tx, orgId, cause, {
    action: 'snapshot.deleted',
    resource: volumeResourceOf(volume),
    before: { snapshotId: id, label: snapshot.label },
  });
}
