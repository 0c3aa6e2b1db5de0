import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId, type SnapshotId, type VolumeId } from '@millrace/platform/ids';
import type { Selectable, Updateable } from 'kysely';
import { parseFrozenPrice } from '../../prices/index.ts';
import type { Snapshot, VolumeRef } from './volume.ts';

/** SQL of snapshots. Callers that change one hold the lock of its volume. */

function toSnapshot(row: Selectable<Tables['volume_snapshots']>): Snapshot {
  return {
    id: fromUuid('snp', row.id),
    volumeId: fromUuid('vol', row.volume_id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    label: row.label,
    sizeGb: row.size_gb,
    volumeGb: row.volume_gb,
    price: parseFrozenPrice(row.price),
    holdId: row.hold_id === null ? null : fromUuid('hld', row.hold_id),
    status: row.status,
    createdAt: row.created_at,
    makeBy: row.make_by,
    tries: row.tries,
  };
}

export async function insertSnapshot(tx: Tx, orgId: OrgId, snapshot: Snapshot): Promise<void> {
  await tx.kysely
    .insertInto('volume_snapshots')
    .values({
      id: toUuid(snapshot.id),
      volume_id: toUuid(snapshot.volumeId),
      org_id: toUuid(orgId),
      mode: snapshot.mode,
      label: snapshot.label,
      size_gb: snapshot.sizeGb,
      volume_gb: snapshot.volumeGb,
      price: JSON.stringify(snapshot.price),
      hold_id: snapshot.holdId === null ? null : toUuid(snapshot.holdId),
      status: snapshot.status,
      created_at: snapshot.createdAt,
      make_by: snapshot.makeBy,
    })
    .execute();
}

/** Without deleted snapshots, newest first. */
export async function listSnapshots(
  reader: Reader,
  { orgId, id }: VolumeRef,
  page: { readonly after: SnapshotId | null; readonly limit: number } | 'all' = 'all',
): Promise<readonly Snapshot[]> {
  let query = reader.kysely
    .selectFrom('volume_snapshots')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('volume_id', '=', toUuid(id))
    .where('status', '<>', 'deleted')
    .orderBy('id', 'desc');
  if (page !== 'all') {
    query = query.limit(page.limit + 1);
    if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  }
  return (await query.execute()).map(toSnapshot);
}

export async function findSnapshot(
  reader: Reader,
  orgId: OrgId,
  volumeId: VolumeId,
  id: SnapshotId,
): Promise<Snapshot | null> {
  const row = await reader.kysely
    .selectFrom('volume_snapshots')
    .selectAll()
    .where('id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .where('volume_id', '=', toUuid(volumeId))
    .where('status', '<>', 'deleted')
    .executeTakeFirst();
  return row === undefined ? null : toSnapshot(row);
}

export type SnapshotChanges = Partial<
  Pick<Snapshot, 'sizeGb' | 'volumeGb' | 'price' | 'holdId' | 'status' | 'tries'>
> & {
  readonly lastError?: string | null;
};

/** Returns false if the status of the snapshot has changed since it was read. */
export async function saveSnapshot(
  tx: Tx,
  orgId: OrgId,
  before: Pick<Snapshot, 'id' | 'status'>,
  changes: SnapshotChanges,
): Promise<boolean> {
  const { status, price, holdId } = changes;
  const now = tx.clock.now();
  const row: Updateable<Tables['volume_snapshots']> = {
    size_gb: changes.sizeGb,
    volume_gb: changes.volumeGb,
    price: price === undefined ? undefined : JSON.stringify(price),
    hold_id: holdId === undefined ? undefined : holdId === null ? null : toUuid(holdId),
    status,
    ready_at: status === 'ready' ? now : undefined,
    ended_at: status === 'failed' || status === 'deleted' ? now : status === 'deleting' ? null : undefined,
    tries: changes.tries,
    last_error: changes.lastError,
  };
  const { numUpdatedRows } = await tx.kysely
    .updateTable('volume_snapshots')
    .set(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)))
    .where('id', '=', toUuid(before.id))
    .where('org_id', '=', toUuid(orgId))
    .where('status', '=', before.status)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function listRestoresFrom(
  reader: Reader,
  volume: VolumeRef,
): Promise<readonly { readonly wireId: number; readonly snapshotId: SnapshotId }[]> {
  const rows = await reader.kysely
    .selectFrom('volumes')
    .select(['wire_id', 'restore_snapshot_id'])
    .where('restore_volume_id', '=', toUuid(volume.id))
    .where('org_id', '=', toUuid(volume.orgId))
    .execute();
  return rows.flatMap((row) =>
    row.restore_snapshot_id === null
      ? []
      : [{ wireId: row.wire_id, snapshotId: fromUuid('snp', row.restore_snapshot_id) }],
  );
}

/** Also of a purged volume. */
export async function findWireId(reader: Reader, orgId: OrgId, id: VolumeId): Promise<number | null> {
  const row = await reader.kysely
    .selectFrom('volumes')
    .select('wire_id')
    .where('id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .executeTakeFirst();
  return row?.wire_id ?? null;
}

export async function markSnapshotsDeleted(tx: Tx, volume: VolumeRef): Promise<void> {
  await tx.kysely
    .updateTable('volume_snapshots')
    .set({ status: 'deleted', ended_at: tx.clock.now() })
    .where('volume_id', '=', toUuid(volume.id))
    .where('org_id', '=', toUuid(volume.orgId))
    .where('status', '<>', 'deleted')
    .execute();
}
