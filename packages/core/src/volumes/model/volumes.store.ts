import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import {
  fromUuid,
  toUuid,
  type HoldId,
  type OrgId,
  type RentalId,
  type StorageNodeId,
  type VolumeId,
} from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { sql, type Insertable, type Selectable, type Updateable } from 'kysely';
import type { TenantRef } from '../../identity/index.ts';
import { parseFrozenPrice } from '../../prices/index.ts';
import { isWireId } from '../../rental-lookup/index.ts';
import type { Growth, Restore, Volume, VolumeChanges, VolumeState } from './volume.ts';

/** SQL of volumes and their transitions. */

type VolumeRow = Selectable<Tables['volumes']>;

const holdOf = (id: string | null): HoldId | null => (id === null ? null : fromUuid('hld', id));

function growthOf(row: VolumeRow): Growth | null {
  const { grow_to_gb: toGb, grow_price: price, grow_by: by } = row;
  if (toGb === null || price === null || by === null) return null;
  return { toGb, price: parseFrozenPrice(price), holdId: holdOf(row.grow_hold_id), by };
}

function restoreOf(row: VolumeRow): Restore | null {
  const { restore_id: id, restore_snapshot_id: snapshot, restore_volume_id: sourceId, restore_by: by } = row;
  if (id === null || snapshot === null || sourceId === null || by === null) return null;
  return { id, snapshotId: fromUuid('snp', snapshot), sourceId: fromUuid('vol', sourceId), by };
}

export function toVolume(row: VolumeRow): Volume {
  return {
    id: fromUuid('vol', row.id),
    wireId: row.wire_id,
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    userId: fromUuid('usr', row.user_id),
    keyId: row.key_id === null ? null : fromUuid('key', row.key_id),
    nodeId: fromUuid('stn', row.node_id),
    region: row.region,
    vip: row.vip,
    label: row.label,
    name: row.name,
    tags: row.tags as Record<string, string>,
    sizeGb: row.size_gb,
    price: parseFrozenPrice(row.price),
    holdId: holdOf(row.hold_id),
    growth: growthOf(row),
    restore: restoreOf(row),
    maxNanoUsd: row.max_nano_usd === null ? null : nanoUsd(row.max_nano_usd),
    phase: row.phase,
    status: row.status as VolumeState,
    statusReason: row.status_reason,
    statusSince: row.status_since,
    endReason: row.end_reason,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    endAcceptedAt: row.end_accepted_at,
    purgeAt: row.purge_at,
    deletedAt: row.deleted_at,
    specSeq: row.wish_seq,
    servedSeq: row.served_seq,
    servedClients: row.served_clients,
    unhealthySince: row.trouble_since,
    tries: row.tries,
    lastError: row.last_error,
    nextActionAt: row.next_action_at,
    transitions: row.transitions,
    version: row.version,
  };
}

const uuidOf = (id: HoldId | null): string | null => (id === null ? null : toUuid(id));

/** `undefined` leaves a column unchanged. */
function toUpdate(changes: VolumeChanges): Updateable<Tables['volumes']> {
  const { growth, holdId, restore } = changes;
  const row: Updateable<Tables['volumes']> = {
    label: changes.label,
    tags: changes.tags === undefined ? undefined : JSON.stringify(changes.tags),
    size_gb: changes.sizeGb,
    price: changes.price === undefined ? undefined : JSON.stringify(changes.price),
    hold_id: holdId === undefined ? undefined : uuidOf(holdId),
    ...(growth === undefined
      ? {}
      : {
          grow_to_gb: growth?.toGb ?? null,
          grow_price: growth === null ? null : JSON.stringify(growth.price),
          grow_hold_id: uuidOf(growth?.holdId ?? null),
          grow_by: growth?.by ?? null,
        }),
    ...(restore === undefined
      ? {}
      : {
          restore_id: restore?.id ?? null,
          restore_snapshot_id: restore === null ? null : toUuid(restore.snapshotId),
          restore_volume_id: restore === null ? null : toUuid(restore.sourceId),
          restore_by: restore?.by ?? null,
        }),
    phase: changes.phase,
    status: changes.status,
    status_reason: changes.statusReason,
    status_since: changes.statusSince,
    end_reason: changes.endReason,
    updated_at: changes.updatedAt,
    started_at: changes.startedAt,
    end_accepted_at: changes.endAcceptedAt,
    purge_at: changes.purgeAt,
    deleted_at: changes.deletedAt,
    wish_seq: changes.specSeq,
    served_seq: changes.servedSeq,
    served_clients: changes.servedClients === undefined ? undefined : [...changes.servedClients],
    trouble_since: changes.unhealthySince,
    tries: changes.tries,
    last_error: changes.lastError,
    next_action_at: changes.nextActionAt,
    transitions: changes.transitions,
  };
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
}

export type NewVolume = Omit<
  Volume,
  'growth' | 'deletedAt' | 'specSeq' | 'servedSeq' | 'servedClients' | 'transitions' | 'version'
>;

export async function insertVolume(tx: Tx, orgId: OrgId, volume: NewVolume): Promise<Volume> {
  const row: Insertable<Tables['volumes']> = {
    ...(toUpdate(volume) as object),
    id: toUuid(volume.id),
    wire_id: volume.wireId,
    org_id: toUuid(orgId),
    mode: volume.mode,
    user_id: toUuid(volume.userId),
    key_id: volume.keyId === null ? null : toUuid(volume.keyId),
    node_id: toUuid(volume.nodeId),
    region: volume.region,
    vip: volume.vip,
    label: volume.label,
    name: volume.name,
    tags: JSON.stringify(volume.tags),
    size_gb: volume.sizeGb,
    price: JSON.stringify(volume.price),
    max_nano_usd: volume.maxNanoUsd,
    phase: volume.phase,
    status: volume.status,
    status_since: volume.statusSince,
    created_at: volume.createdAt,
  };
  return toVolume(await tx.kysely.insertInto('volumes').values(row).returningAll().executeTakeFirstOrThrow());
}

/** By wire id. A test key sees test volumes only. Purged volumes are not found. */
export async function findVolume(
  reader: Reader,
  { orgId, mode }: TenantRef,
  wireId: number,
): Promise<Volume | null> {
  if (!isWireId(wireId)) return null;
  const row = await reader.kysely
    .selectFrom('volumes')
    .selectAll()
    .where('wire_id', '=', wireId)
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('phase', '<>', 'purged')
    .executeTakeFirst();
  return row === undefined ? null : toVolume(row);
}

/** For operators: of any organisation, also purged. */
export async function findAnyVolume(reader: Reader, wireId: number): Promise<Volume | null> {
  const query = reader.kysely.selectFrom('volumes').selectAll().where('wire_id', '=', wireId);
  const row = await query.executeTakeFirst();
  return row === undefined ? null : toVolume(row);
}

export async function countVolumes(reader: Reader, { orgId, mode }: TenantRef): Promise<number> {
  const row = await reader.kysely
    .selectFrom('volumes')
    .select((build) => build.fn.countAll().as('count'))
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('phase', '<>', 'purged')
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

export async function isLabelTaken(
  reader: Reader,
  { orgId, mode }: TenantRef,
  label: string,
): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('volumes')
    .select('id')
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('label', '=', label)
    .where('phase', 'in', ['provisioning', 'live', 'frozen'])
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Every change of a volume, its attachments or its snapshots needs this lock. Take it after the locks of rentals and
 * storage nodes, and before the ledger's.
 */
export async function lockVolume(tx: Tx, orgId: OrgId, id: VolumeId): Promise<Volume | null> {
  const row = await tx.kysely
    .selectFrom('volumes')
    .selectAll()
    .where('id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row === undefined ? null : toVolume(row);
}

/** Volumes that are or were attached to a rental, locked in order of their ids. */
export async function lockVolumesOfRental(tx: Tx, orgId: OrgId, id: RentalId): Promise<readonly Volume[]> {
  const rows = await tx.kysely
    .selectFrom('volumes')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('id', 'in', (attachments) =>
      attachments
        .selectFrom('volume_attachments')
        .select('volume_id')
        .where('rental_id', '=', toUuid(id))
        .where('org_id', '=', toUuid(orgId))
        .where('detached_at', 'is', null),
    )
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  return rows.map(toVolume);
}

/** Throws if the volume has changed since it was read: lock it first. */
export async function saveVolume(tx: Tx, before: Volume, changes: VolumeChanges): Promise<Volume> {
  const row = await tx.kysely
    .updateTable('volumes')
    .set({ ...toUpdate(changes), version: before.version + 1 })
    .where('id', '=', toUuid(before.id))
    .where('org_id', '=', toUuid(before.orgId))
    .where('version', '=', before.version)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw new Error(`Volume ${before.id} was changed by somebody else meanwhile.`);
  return toVolume(row);
}

/** Numbered by the volume, whose lock the caller holds. `to` is null when it is purged. */
export async function insertTransition(
  tx: Tx,
  volume: Pick<Volume, 'id' | 'orgId' | 'mode'>,
  step: {
    readonly seq: number;
    readonly from: VolumeState | null;
    readonly to: VolumeState | null;
    readonly reason: string | null;
    readonly actor: Actor;
    readonly at: Date;
  },
): Promise<void> {
  await tx.kysely
    .insertInto('volume_transitions')
    .values({
      volume_id: toUuid(volume.id),
      seq: step.seq,
      org_id: toUuid(volume.orgId),
      mode: volume.mode,
      from_status: step.from,
      to_status: step.to,
      reason: step.reason,
      actor: `${step.actor.kind}:${step.actor.id}`,
      at: step.at,
    })
    .execute();
}

/** Without purged volumes, oldest first. */
export async function listVolumes(
  reader: Reader,
  { orgId, mode }: TenantRef,
  page: { readonly after: VolumeId | null; readonly limit: number | null },
): Promise<readonly Volume[]> {
  let query = reader.kysely
    .selectFrom('volumes')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('phase', '<>', 'purged')
    .orderBy('id');
  if (page.after !== null) query = query.where('id', '>', toUuid(page.after));
  if (page.limit !== null) query = query.limit(page.limit + 1);
  return (await query.execute()).map(toVolume);
}

/** Claims due volumes of all organisations until `until`. Skips volumes that are locked. */
export async function claimDueVolumes(
  tx: Tx,
  request: {
    readonly now: Date;
    readonly until: Date;
    readonly limit: number;
    /** Storage nodes to skip. */
    readonly but: readonly StorageNodeId[];
  },
): Promise<readonly Pick<Volume, 'orgId' | 'id' | 'nodeId'>[]> {
  const { rows } = await sql<{ org_id: string; id: string; node_id: string }>`
    update volumes set next_action_at = ${request.until}
     where id in (select id from volumes
                   where next_action_at <= ${request.now} and node_id <> all(${request.but.map(toUuid)}::uuid[])
                   order by next_action_at limit ${request.limit} for no key update skip locked)
    returning org_id, id, node_id`.execute(tx.kysely);
  return rows.map((row) => ({
    orgId: fromUuid('org', row.org_id),
    id: fromUuid('vol', row.id),
    nodeId: fromUuid('stn', row.node_id),
  }));
}

/** How long the oldest due volume has been due, in milliseconds; 0 if none is. */
export async function readOldestDueMs(reader: Reader, now: Date): Promise<number> {
  const row = await reader.kysely
    .selectFrom('volumes')
    .select((build) => build.fn.min('next_action_at').as('oldest'))
    .where('next_action_at', '<=', now)
    .executeTakeFirst();
  const oldest = row?.oldest ?? null;
  return oldest === null ? 0 : now.getTime() - oldest.getTime();
}
