import type { StorageNodeSetting } from '@millrace/platform/config';
import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type StorageNodeId, type VolumeId } from '@millrace/platform/ids';
import { sql, type Selectable } from 'kysely';
import type { StorageNodeUsage, StorageNode } from './storage-nodes.ts';
import { toVolume } from './volumes.store.ts';
import type { Volume } from './volume.ts';

const CONFIGURATION_LOCK = 7_102_500_026;

function toNode(row: Selectable<Tables['storage_nodes']>): StorageNode {
  return {
    id: fromUuid('stn', row.id),
    name: row.name,
    region: row.region,
    mode: row.mode,
    kind: row.kind,
    endpoint: row.endpoint,
    credentialRef: row.credential_ref,
    settings: row.settings as Record<string, unknown>,
    vipFirst: row.vip_first,
    vipLast: row.vip_last,
    capacityGb: row.capacity_gb,
    configured: row.configured,
    status: row.status,
    statusReason: row.status_reason,
    lastCheckAt: row.beat_at,
    watchSince: row.watch_since,
    seenAt: row.seen_at,
  };
}

/** Serialises workers that start together. */
export async function lockStorageConfiguration(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${CONFIGURATION_LOCK})`.execute(tx.kysely);
}

export async function listStorageNodes(reader: Reader): Promise<readonly StorageNode[]> {
  const rows = await reader.kysely.selectFrom('storage_nodes').selectAll().orderBy('name').execute();
  return rows.map(toNode);
}

export async function findStorageNode(reader: Reader, id: StorageNodeId): Promise<StorageNode | null> {
  const row = await reader.kysely
    .selectFrom('storage_nodes')
    .selectAll()
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  return row === undefined ? null : toNode(row);
}

export async function insertStorageNode(tx: Tx, setting: StorageNodeSetting): Promise<void> {
  const now = tx.clock.now();
  await tx.kysely
    .insertInto('storage_nodes')
    .values({
      id: toUuid(tx.ids.next('stn')),
      name: setting.name,
      region: setting.region,
      mode: setting.region === 'mock-region' ? 'test' : 'live',
      kind: setting.kind,
      endpoint: setting.endpoint,
      credential_ref: setting.credential,
      settings: JSON.stringify(setting.settings),
      vip_first: setting.vips.first,
      vip_last: setting.vips.last,
      capacity_gb: setting.capacityGb,
      status: 'connecting',
      status_since: now,
      next_look_at: now,
      created_at: now,
    })
    .execute();
}

/** Writes nothing if nothing has changed. */
export async function updateStorageNode(
  tx: Tx,
  id: StorageNodeId,
  setting: StorageNodeSetting,
): Promise<void> {
  const { endpoint, credential, vips, capacityGb } = setting;
  const settings = JSON.stringify(setting.settings);
  await sql`
    update storage_nodes
       set endpoint = ${endpoint}, credential_ref = ${credential}, settings = ${settings}::jsonb,
           vip_first = ${vips.first}, vip_last = ${vips.last}, capacity_gb = ${capacityGb}, configured = true
     where id = ${toUuid(id)}
       and (endpoint, credential_ref, settings, vip_first, vip_last, capacity_gb, configured)
           is distinct from (${endpoint}::text, ${credential}::text, ${settings}::jsonb, ${vips.first}::text,
             ${vips.last}::text, ${capacityGb}::int, true)`.execute(tx.kysely);
}

export async function unconfigureNodes(tx: Tx, named: readonly string[]): Promise<void> {
  await sql`update storage_nodes set configured = false where configured and name <> all (${named}::text[])`.execute(
    tx.kysely,
  );
}

/** Test keys use mock storage in every region. */
function storageRegionOf(mode: Mode, region: string): string {
  return mode === 'test' ? 'mock-region' : region;
}

/** Whether a node is configured for the region, reachable or not. */
export async function isRegionServed(reader: Reader, mode: Mode, region: string): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('storage_nodes')
    .select('id')
    .where('mode', '=', mode)
    .where('region', '=', storageRegionOf(mode, region))
    .where('configured', '=', true)
    .executeTakeFirst();
  return row !== undefined;
}

/** Locks the usable nodes of a region, or one node, in order of their ids. The lock is needed to sell capacity on a node. */
export async function lockStorageNodes(
  tx: Tx,
  where: { readonly mode: Mode; readonly region: string } | { readonly id: StorageNodeId },
): Promise<readonly StorageNode[]> {
  const all = tx.kysely.selectFrom('storage_nodes').selectAll();
  const some =
    'id' in where
      ? all.where('id', '=', toUuid(where.id))
      : all
          .where('mode', '=', where.mode)
          .where('region', '=', storageRegionOf(where.mode, where.region))
          .where('configured', '=', true)
          .where('status', '=', 'connected');
  return (await some.orderBy('id').forNoKeyUpdate().execute()).map(toNode);
}

/** The sold capacity: volumes with their pending growth, and snapshots. */
export async function readNodeUsage(
  reader: Reader,
  ids: readonly StorageNodeId[],
): Promise<ReadonlyMap<StorageNodeId, StorageNodeUsage>> {
  const { rows } = await sql<{ node_id: string; sold: bigint; vips: string[] }>`
    select volume.node_id, array_agg(volume.vip) as vips,
           sum(coalesce(volume.grow_to_gb, volume.size_gb) + coalesce(kept.size, 0))::bigint as sold
      from volumes as volume
      cross join lateral (select sum(snapshot.size_gb) as size from volume_snapshots as snapshot
                           where snapshot.volume_id = volume.id and snapshot.status in ('creating', 'ready', 'deleting')) as kept
     where volume.node_id = any(${ids.map(toUuid)}::uuid[]) and volume.phase <> 'purged'
     group by volume.node_id`.execute(reader.kysely);
  return new Map(
    rows.map((row) => [fromUuid('stn', row.node_id), { soldGb: Number(row.sold), vips: new Set(row.vips) }]),
  );
}

/** Claims the node whose check is due until `until`. */
export async function claimNodeCheck(
  tx: Tx,
  request: { readonly now: Date; readonly until: Date; readonly but: readonly StorageNodeId[] },
): Promise<StorageNode | null> {
  const row = await tx.kysely
    .selectFrom('storage_nodes')
    .selectAll()
    .where('next_look_at', '<=', request.now)
    .$if(request.but.length > 0, (query) => query.where('id', 'not in', request.but.map(toUuid)))
    .orderBy('next_look_at')
    .limit(1)
    .forNoKeyUpdate()
    .skipLocked()
    .executeTakeFirst();
  if (row === undefined) return null;
  await tx.kysely
    .updateTable('storage_nodes')
    .set({ next_look_at: request.until })
    .where('id', '=', row.id)
    .execute();
  return toNode(row);
}

export type StorageNodeChanges = Partial<
  Pick<StorageNode, 'status' | 'statusReason' | 'lastCheckAt' | 'watchSince' | 'seenAt'>
>;

export async function saveStorageNode(tx: Tx, node: StorageNode, changes: StorageNodeChanges): Promise<void> {
  const isMove = changes.status !== undefined && changes.status !== node.status;
  await tx.kysely
    .updateTable('storage_nodes')
    .set({
      ...(changes.status === undefined ? {} : { status: changes.status }),
      ...(changes.statusReason === undefined ? {} : { status_reason: changes.statusReason }),
      ...(changes.lastCheckAt === undefined ? {} : { beat_at: changes.lastCheckAt }),
      ...(changes.watchSince === undefined ? {} : { watch_since: changes.watchSince }),
      ...(changes.seenAt === undefined ? {} : { seen_at: changes.seenAt }),
      ...(isMove ? { status_since: tx.clock.now() } : {}),
    })
    .where('id', '=', toUuid(node.id))
    .execute();
}

/** Across organisations, without purged volumes. */
export async function listVolumesOfNode(reader: Reader, id: StorageNodeId): Promise<readonly Volume[]> {
  const rows = await reader.kysely
    .selectFrom('volumes')
    .selectAll()
    .where('node_id', '=', toUuid(id))
    .where('phase', '<>', 'purged')
    .orderBy('id')
    .execute();
  return rows.map(toVolume);
}

/** Ids that were volumes of this node and are purged; their leftovers can be removed. */
export async function findPurged(
  reader: Reader,
  nodeId: StorageNodeId,
  uuids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await reader.kysely
    .selectFrom('volumes')
    .select('id')
    .where('node_id', '=', toUuid(nodeId))
    .where('phase', '=', 'purged')
    .where('id', 'in', [...uuids])
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** The node serves something else than its spec, so it must confirm the spec again. */
export async function bumpSpecVersions(
  tx: Tx,
  volumes: readonly { readonly orgId: OrgId; readonly id: VolumeId }[],
): Promise<void> {
  await sql`
    update volumes set wish_seq = wish_seq + 1, next_action_at = ${tx.clock.now()}, version = version + 1
     where id = any(${volumes.map(({ id }) => toUuid(id))}::uuid[]) and served_seq = wish_seq and phase <> 'purged'`.execute(
    tx.kysely,
  );
}

/** Makes volumes due now. A volume that is being reconciled becomes due again afterwards. */
export async function scheduleVolumesNow(
  tx: Tx,
  volumes: readonly { readonly orgId: OrgId; readonly id: VolumeId }[],
): Promise<void> {
  if (volumes.length === 0) return;
  const now = tx.clock.now();
  await sql`
    update volumes set next_action_at = ${now}
     where id = any(${volumes.map(({ id }) => toUuid(id))}::uuid[]) and next_action_at > ${now}`.execute(
    tx.kysely,
  );
}
