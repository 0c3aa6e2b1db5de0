import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type RentalId } from '@millrace/platform/ids';
import { isItemAvailable, type SharedLoop } from '@millrace/platform/loops';
import { nanoUsd } from '@millrace/platform/money';
import { sql, type Insertable, type Selectable, type Updateable } from 'kysely';
import { parseFrozenPrice } from '../../prices/index.ts';
import { isWireId } from '../../rental-lookup/index.ts';
import type { ColumnsOf } from './columns.ts';
import type {
  PrivateCloud,
  PublicIdentity,
  Rental,
  RentalFields,
  RentalState,
  RentalSummary,
  RentalSupplier,
  TaskOptions,
} from './rental.ts';

/** SQL that reads and changes single rows of `rentals`. Lists are in `rental-lists.store.ts`, machines in `machines.store.ts`. */

export type RentalRow = Selectable<Tables['rentals']>;

export const shownColumns =
  `id, wire_id, org_id, mode, kind, user_id, provider_id, region, gpu_type, gpu_count, node_count,
  connection_type, name, label, tags, image, custom_ports, monitoring, convert_on_expiry, status, status_reason,
  status_since, power, gpu_held, attempt, created_at, updated_at, started_at, ended_at, end_reason, expires_at,
  max_nano_usd, private_cloud, disk_price, billing_paused_at` as const;

export function toSummary(row: Pick<RentalRow, ColumnsOf<typeof shownColumns>>): RentalSummary {
  return {
    id: fromUuid('rnt', row.id),
    wireId: row.wire_id,
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    kind: row.kind,
    userId: fromUuid('usr', row.user_id),
    providerId: row.provider_id,
    region: row.region,
    gpuType: row.gpu_type,
    nodeCount: row.node_count,
    gpuCount: row.gpu_count,
    connectionType: row.connection_type,
    name: row.name,
    label: row.label,
    tags: row.tags as Record<string, string>,
    image: row.image,
    customPorts: row.custom_ports,
    monitoring: row.monitoring,
    convertOnExpiry: row.convert_on_expiry,
    diskPrice: row.disk_price === null ? null : parseFrozenPrice(row.disk_price),
    privateCloud: row.private_cloud as PrivateCloud | null,
    status: row.status as RentalState,
    statusReason: row.status_reason,
    statusSince: row.status_since,
    power: row.power,
    gpuHeld: row.gpu_held,
    attempt: row.attempt,
    billingPausedAt: row.billing_paused_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    endReason: row.end_reason,
    expiresAt: row.expires_at,
    maxNanoUsd: row.max_nano_usd === null ? null : nanoUsd(row.max_nano_usd),
  };
}

function toRental(row: RentalRow): Rental {
  const { idle_after_seconds: afterSeconds, idle_action: idleAction } = row;
  return {
    ...toSummary(row),
    keyId: row.key_id === null ? null : fromUuid('key', row.key_id),
    gpusPerNode: row.gpus_per_node,
    cuda: row.cuda,
    userData: row.user_data,
    sshKeys: row.ssh_keys,
    labels: row.labels as Record<string, string>,
    supplier: supplierOf(row),
    publicIdentity: row.told_as as PublicIdentity | null,
    task: row.task,
    taskOptions: row.task_options as TaskOptions,
    taskDeadlineAt: row.task_deadline_at,
    firstAttempt: row.first_attempt,
    allocationId: row.allocation_id === null ? null : fromUuid('alc', row.allocation_id),
    unhealthySince: row.trouble_since,
    endAcceptedAt: row.end_accepted_at,
    idle: afterSeconds === null || idleAction === null ? null : { afterSeconds, action: idleAction },
    expiryNotifiedAt: row.told_expiring_at,
    nextActionAt: row.next_action_at,
    deadlineAt: row.deadline_at,
    transitions: row.transitions,
    steps: row.steps,
    version: row.version,
  };
}

function supplierOf(row: RentalRow): RentalSupplier | null {
  const { supplier_org_id: orgId, supplier_rate_nano_usd_per_hour: rate } = row;
  return orgId === null || rate === null
    ? null
    : { orgId: fromUuid('org', orgId), ratePerHour: nanoUsd(rate) };
}

export type NewRental = Omit<Rental, 'gpuCount' | 'transitions' | 'steps' | 'version'> &
  Partial<Pick<Rental, 'steps'>>;

function toInsert(rental: NewRental): Insertable<Tables['rentals']> {
  return {
    ...(toUpdate(rental) as object),
    id: toUuid(rental.id),
    wire_id: rental.wireId,
    org_id: toUuid(rental.orgId),
    mode: rental.mode,
    kind: rental.kind,
    user_id: toUuid(rental.userId),
    key_id: rental.keyId === null ? null : toUuid(rental.keyId),
    provider_id: rental.providerId,
    region: rental.region,
    gpu_type: rental.gpuType,
    gpus_per_node: rental.gpusPerNode,
    node_count: rental.nodeCount,
    connection_type: rental.connectionType,
    cuda: rental.cuda,
    image: rental.image,
    ssh_keys: [...rental.sshKeys],
    custom_ports: [...rental.customPorts],
    tags: JSON.stringify(rental.tags),
    task_options: JSON.stringify(rental.taskOptions),
    labels: JSON.stringify(rental.labels),
    convert_on_expiry: rental.convertOnExpiry,
    disk_price: rental.diskPrice === null ? null : JSON.stringify(rental.diskPrice),
    supplier_org_id: rental.supplier === null ? null : toUuid(rental.supplier.orgId),
    supplier_rate_nano_usd_per_hour: rental.supplier?.ratePerHour ?? null,
    told_as: rental.publicIdentity === null ? null : JSON.stringify(rental.publicIdentity),
    private_cloud: rental.privateCloud === null ? null : JSON.stringify(rental.privateCloud),
    status: rental.status,
    status_since: rental.statusSince,
    power: rental.power,
    created_at: rental.createdAt,
  };
}

export type RentalChanges = Partial<RentalFields>;

/** `undefined` leaves a column unchanged. */
function toUpdate(changes: RentalChanges): Updateable<Tables['rentals']> {
  const row: Updateable<Tables['rentals']> = {
    provider_id: changes.providerId,
    name: changes.name,
    label: changes.label,
    tags: changes.tags === undefined ? undefined : JSON.stringify(changes.tags),
    monitoring: changes.monitoring,
    convert_on_expiry: changes.convertOnExpiry,
    user_data: changes.userData,
    status: changes.status,
    status_reason: changes.statusReason,
    status_since: changes.statusSince,
    task: changes.task,
    task_options: changes.taskOptions === undefined ? undefined : JSON.stringify(changes.taskOptions),
    task_deadline_at: changes.taskDeadlineAt,
    power: changes.power,
    gpu_held: changes.gpuHeld,
    attempt: changes.attempt,
    first_attempt: changes.firstAttempt,
    allocation_id: changes.allocationId == null ? changes.allocationId : toUuid(changes.allocationId),
    trouble_since: changes.unhealthySince,
    billing_paused_at: changes.billingPausedAt,
    updated_at: changes.updatedAt,
    started_at: changes.startedAt,
    end_accepted_at: changes.endAcceptedAt,
    ended_at: changes.endedAt,
    end_reason: changes.endReason,
    expires_at: changes.expiresAt,
    max_nano_usd: changes.maxNanoUsd,
    idle_after_seconds: changes.idle === undefined ? undefined : (changes.idle?.afterSeconds ?? null),
    idle_action: changes.idle === undefined ? undefined : (changes.idle?.action ?? null),
    told_expiring_at: changes.expiryNotifiedAt,
    next_action_at: changes.nextActionAt,
    deadline_at: changes.deadlineAt,
    transitions: changes.transitions,
    steps: changes.steps,
  };
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
}

export async function insertRental(tx: Tx, rental: NewRental): Promise<Rental> {
  const row = await tx.kysely
    .insertInto('rentals')
    .values(toInsert(rental))
    .returningAll()
    .executeTakeFirstOrThrow();
  return toRental(row);
}

/** Null if the organisation has no rental with this id. */
export async function findRental(reader: Reader, orgId: OrgId, id: RentalId): Promise<Rental | null> {
  const row = await reader.kysely
    .selectFrom('rentals')
    .selectAll()
    .where('id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .executeTakeFirst();
  return row === undefined ? null : toRental(row);
}

/** Looks up by wire id. Test keys see only test rentals, live keys only live ones. */
export async function findRentalByWireId(
  reader: Reader,
  orgId: OrgId,
  mode: Rental['mode'],
  wireId: number,
): Promise<Rental | null> {
  if (!isWireId(wireId)) return null;
  const row = await reader.kysely
    .selectFrom('rentals')
    .selectAll()
    .where('wire_id', '=', wireId)
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .executeTakeFirst();
  return row === undefined ? null : toRental(row);
}

/** Rental of any organisation, for operators. */
export async function findAnyRental(reader: Reader, wireId: number): Promise<Rental | null> {
  const query = reader.kysely.selectFrom('rentals').selectAll().where('wire_id', '=', wireId);
  const row = await query.executeTakeFirst();
  return row === undefined ? null : toRental(row);
}

/**
 * Locks the rental. Every writer of a rental, its machines, terms or steps takes this lock first, then the fleet's locks
 * (placing, releasing), then the ledger's.
 */
export async function lockRental(tx: Tx, orgId: OrgId, id: RentalId): Promise<Rental | null> {
  const row = await tx.kysely
    .selectFrom('rentals')
    .selectAll()
    .where('id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row === undefined ? null : toRental(row);
}

/** Writes the changes if the version is unchanged, else throws. Lock the rental first. */
export async function saveRental(tx: Tx, before: Rental, changes: RentalChanges): Promise<Rental> {
  const row = await tx.kysely
    .updateTable('rentals')
    .set({ ...toUpdate(changes), version: before.version + 1 })
    .where('id', '=', toUuid(before.id))
    .where('org_id', '=', toUuid(before.orgId))
    .where('version', '=', before.version)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined)
    throw new Error(`Rental ${before.id} was changed by another transaction. Lock it before reading it.`);
  return toRental(row);
}

/** The rental numbers its transitions; the caller holds its lock. */
export async function insertTransition(
  tx: Tx,
  rental: Pick<Rental, 'id' | 'orgId' | 'mode' | 'transitions' | 'statusSince'>,
  move: { readonly from: RentalState | null; readonly to: RentalState; readonly reason: string | null },
  actor: Actor,
): Promise<void> {
  await tx.kysely
    .insertInto('rental_transitions')
    .values({
      rental_id: toUuid(rental.id),
      seq: rental.transitions,
      org_id: toUuid(rental.orgId),
      mode: rental.mode,
      from_status: move.from,
      to_status: move.to,
      reason: move.reason,
      actor: `${actor.kind}:${actor.id}`,
      at: rental.statusSince,
    })
    .execute();
}

/** Stores when the rental is due next, unless it has changed since: the later writer has then set its own time. */
export async function rescheduleRental(
  reader: Reader,
  seen: Rental,
  { nextActionAt, deadlineAt }: { readonly nextActionAt: Date; readonly deadlineAt: Date },
): Promise<void> {
  await reader.kysely
    .updateTable('rentals')
    .set({ next_action_at: nextActionAt, deadline_at: deadlineAt })
    .where('id', '=', toUuid(seen.id))
    .where('org_id', '=', toUuid(seen.orgId))
    .where('version', '=', seen.version)
    .where('status', '<>', 'Terminated')
    .execute();
}

/** The fields that a reconcile command needs. */
export type RentalRef = Pick<Rental, 'orgId' | 'id' | 'mode'>;

/** Due rentals of all organisations, except those that the loop has postponed. */
export async function listDueRentals(
  reader: Reader,
  loop: SharedLoop,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<readonly RentalId[]> {
  const { rows } = await sql<{ id: string }>`
    select id from rentals where next_action_at <= ${now} and ${isItemAvailable(loop, sql<string>`rentals.id::text`, now)}
     order by next_action_at limit ${limit}
  `.execute(reader.kysely);
  return rows.map(({ id }) => fromUuid('rnt', id));
}

/** Claims due rentals until `nextActionAt`. Reads only a few columns, so that an unreadable row blocks no other. */
export async function claimDueRentals(
  tx: Tx,
  due: {
    readonly now: Date;
    readonly ids: readonly RentalId[];
    readonly nextActionAt: Date;
    readonly deadlineAt: Date;
  },
): Promise<readonly RentalRef[]> {
  const { rows } = await sql<{ org_id: string; id: string; mode: Rental['mode'] }>`
    update rentals
       set next_action_at = ${due.nextActionAt}, deadline_at = coalesce(deadline_at, ${due.deadlineAt})
     where id in (select id from rentals where id = any (${due.ids.map(toUuid)}::uuid[]) and next_action_at <= ${due.now}
                   order by id for no key update skip locked)
    returning org_id, id, mode
  `.execute(tx.kysely);
  return rows.map(({ org_id, id, mode }) => ({
    orgId: fromUuid('org', org_id),
    id: fromUuid('rnt', id),
    mode,
  }));
}

/** Rentals of the organisation in both modes whose termination has not started. */
export async function listUnterminated(
  reader: Reader,
  orgId: OrgId,
): Promise<readonly Pick<Rental, 'mode' | 'kind' | 'wireId'>[]> {
  const rows = await reader.kysely
    .selectFrom('rentals')
    .select(['mode', 'kind', 'wire_id'])
    .where('org_id', '=', toUuid(orgId))
    .where('status', 'in', ['Pending', 'Running', 'Unknown'])
    .execute();
  return rows.map(({ mode, kind, wire_id }) => ({ mode, kind, wireId: wire_id }));
}

/**
 * Rentals of all organisations that no handler reconciles: first those to be disconnected by `uncutBy`, then those with a
 * deadline before `lateBy`, longest overdue first. Excludes rentals that a worker has claimed or that failed lately.
 */
export async function listStuckRentals(
  tx: Tx,
  loop: SharedLoop,
  terms: { readonly now: Date; readonly lateBy: Date; readonly uncutBy: Date; readonly limit: number },
): Promise<readonly Pick<Rental, 'orgId' | 'id'>[]> {
  const { now, lateBy, uncutBy, limit } = terms;
  const { rows } = await sql<{ org_id: string; id: string }>`
    with uncut as (
      select distinct on (machine.rental_id) machine.org_id, machine.rental_id as id, machine.next_try_at as since
        from rental_machines as machine
       where machine.state = 'doomed' and machine.cut_at is null and machine.next_try_at <= ${uncutBy}
         and ${isItemAvailable(loop, sql<string>`machine.rental_id::text`, now)}
       order by machine.rental_id, machine.next_try_at),
    late as (
      select org_id, id, deadline_at as since from rentals
       where deadline_at <= ${lateBy} and ${isItemAvailable(loop, sql<string>`rentals.id::text`, now)}
       order by deadline_at limit ${limit})
    select org_id, id from (
      select org_id, id, since, 0 as rank from uncut
      union all
      select org_id, id, since, 1 as rank from late where id not in (select id from uncut)) as stuck
     order by rank, since limit ${limit}
  `.execute(tx.kysely);
  return rows.map((row) => ({ orgId: fromUuid('org', row.org_id), id: fromUuid('rnt', row.id) }));
}
