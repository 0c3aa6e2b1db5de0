import type { MachineState } from '@millrace/contract';
import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type MaintenanceId, type NodeId } from '@millrace/platform/ids';
import { sql, type Selectable } from 'kysely';
import type { FleetPageRequest } from '../inventory/clusters.ts';
import type { MaintenanceWindow, NoticeKind, AffectedAllocation, WindowStatus } from './maintenance.ts';

/** SQL about maintenance windows. */

type WindowRow = Selectable<Tables['maintenance_windows']>;

function toWindow(row: WindowRow): MaintenanceWindow {
  return {
    id: fromUuid('mnt', row.id),
    summary: row.summary,
    status: row.status,
    drainsAt: row.drains_at,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    endedAt: row.ended_at,
    createdAt: row.created_at,
  };
}

export type NewWindow = Pick<MaintenanceWindow, 'summary' | 'drainsAt' | 'startsAt' | 'endsAt'>;

export async function insertWindow(
  tx: Tx,
  fields: NewWindow,
  nodeIds: readonly NodeId[],
): Promise<MaintenanceWindow> {
  const row = await tx.kysely
    .insertInto('maintenance_windows')
    .values({
      id: toUuid(tx.ids.next('mnt')),
      summary: fields.summary,
      status: 'announced',
      drains_at: fields.drainsAt,
      starts_at: fields.startsAt,
      ends_at: fields.endsAt,
      created_at: tx.clock.now(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await tx.kysely
    .insertInto('maintenance_nodes')
    .values(nodeIds.map((id) => ({ window_id: row.id, node_id: toUuid(id) })))
    .execute();
  return toWindow(row);
}

/** Returns those of the nodes that are in the fleet. */
export async function findPresentNodes(db: Reader, nodeIds: readonly NodeId[]): Promise<ReadonlySet<NodeId>> {
  const rows = await db.kysely
    .selectFrom('nodes')
    .select('id')
    .where('id', 'in', nodeIds.map(toUuid))
    .where('status', '<>', 'node_removed')
    .execute();
  return new Set(rows.map((row) => fromUuid('nod', row.id)));
}

export interface WindowRecord extends MaintenanceWindow {
  readonly nodeIds: readonly NodeId[];
  /** Allocations with at least one notice. */
  readonly notifiedAllocations: number;
}

export interface WindowFilter {
  readonly nodeId?: NodeId | undefined;
  readonly status?: WindowStatus | undefined;
}

/** Newest first, one row more than the limit. */
export async function listWindows(
  reader: Reader,
  filter: WindowFilter,
  page: FleetPageRequest<MaintenanceId>,
): Promise<readonly WindowRecord[]> {
  const { nodeId, status } = filter;
  let query = reader.kysely
    .selectFrom('maintenance_windows')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (status !== undefined) query = query.where('status', '=', status);
  if (nodeId !== undefined) {
    query = query.where('id', 'in', (select) =>
      select.selectFrom('maintenance_nodes').select('window_id').where('node_id', '=', toUuid(nodeId)),
    );
  }
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  return withDetails(reader, await query.execute());
}

export async function findWindow(reader: Reader, id: MaintenanceId): Promise<WindowRecord | null> {
  const rows = await reader.kysely
    .selectFrom('maintenance_windows')
    .selectAll()
    .where('id', '=', toUuid(id))
    .execute();
  return (await withDetails(reader, rows))[0] ?? null;
}

/** Runs two statements for any number of windows and nodes. */
async function withDetails(reader: Reader, rows: readonly WindowRow[]): Promise<readonly WindowRecord[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const nodes = await reader.kysely
    .selectFrom('maintenance_nodes')
    .select(['window_id', 'node_id'])
    .where('window_id', 'in', ids)
    .orderBy('node_id')
    .execute();
  const notices = await reader.kysely
    .selectFrom('maintenance_notices')
    .select((select) => ['window_id', select.fn.countAll<bigint>().as('count')])
    .where('window_id', 'in', ids)
    .groupBy('window_id')
    .execute();
  const nodesOf = Map.groupBy(nodes, (node) => node.window_id);
  const noticeCountOf = new Map(notices.map(({ window_id, count }) => [window_id, Number(count)]));
  return rows.map((row) => ({
    ...toWindow(row),
    nodeIds: (nodesOf.get(row.id) ?? []).map((node) => fromUuid('nod', node.node_id)),
    notifiedAllocations: noticeCountOf.get(row.id) ?? 0,
  }));
}

/** Open windows, and ended ones that still hold nodes or lack their last notice. */
export async function findUnfinishedWindows(reader: Reader): Promise<readonly MaintenanceId[]> {
  const { rows } = await sql<{ id: string }>`
    select id, starts_at from maintenance_windows where status in ('announced', 'in_progress')
     union
    select windows.id, windows.starts_at from maintenance_windows as windows
     where windows.id in (select window_id from maintenance_nodes where hold = 'held'
                           union select window_id from maintenance_notices where told <> 'ended')
     order by starts_at, id
  `.execute(reader.kysely);
  return rows.map((row) => fromUuid('mnt', row.id));
}

/** `pass` skips a window that another sweep has locked. */
export async function lockWindow(
  tx: Tx,
  id: MaintenanceId,
  whenTaken: 'wait' | 'pass',
): Promise<MaintenanceWindow | null> {
  const query = tx.kysely
    .selectFrom('maintenance_windows')
    .selectAll()
    .where('id', '=', toUuid(id))
    .forNoKeyUpdate();
  const row = await (whenTaken === 'pass' ? query.skipLocked() : query).executeTakeFirst();
  return row === undefined ? null : toWindow(row);
}

/** The caller has locked the window. */
export async function setWindowStatus(
  tx: Tx,
  window: MaintenanceWindow,
  to: WindowStatus,
  endedAt: Date | null,
): Promise<MaintenanceWindow> {
  const row = await tx.kysely
    .updateTable('maintenance_windows')
    .set({ status: to, ended_at: endedAt })
    .where('id', '=', toUuid(window.id))
    .where('status', '=', window.status)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toWindow(row);
}

/** Nodes that the window could hold now, without those that accept nothing anyway. */
export async function findDrainableNodes(
  reader: Reader,
  windowId: MaintenanceId,
  limit: number,
): Promise<readonly NodeId[]> {
  const rows = await reader.kysely
    .selectFrom('maintenance_nodes as part')
    .innerJoin('nodes as node', 'node.id', 'part.node_id')
    .select('node.id')
    .where('part.window_id', '=', toUuid(windowId))
    .where('part.hold', '=', 'waiting')
    .where((where) =>
      where(where.fn.coalesce('node.back_to', 'node.status'), 'in', [
        'node_ready',
        'node_draining',
        'node_removed',
      ]),
    )
    .orderBy('node.id')
    .limit(limit)
    .execute();
  return rows.map((row) => fromUuid('nod', row.id));
}

export async function findNodesDrainedBy(
  reader: Reader,
  windowId: MaintenanceId,
  limit: number,
): Promise<readonly NodeId[]> {
  const rows = await reader.kysely
    .selectFrom('maintenance_nodes')
    .select('node_id')
    .where('window_id', '=', toUuid(windowId))
    .where('hold', '=', 'held')
    .orderBy('node_id')
    .limit(limit)
    .execute();
  return rows.map((row) => fromUuid('nod', row.node_id));
}

export interface WindowNode {
  readonly nodeId: NodeId;
  readonly status: MachineState;
  readonly backTo: MachineState | null;
  readonly hold: 'waiting' | 'held' | 'left';
  readonly isHeldByOther: boolean;
}

/** The caller has locked the nodes, so that no hold changes meanwhile. */
export async function readWindowNodes(
  tx: Tx,
  windowId: MaintenanceId,
  nodeIds: readonly NodeId[],
): Promise<readonly WindowNode[]> {
  const rows = await tx.kysely
    .selectFrom('maintenance_nodes as part')
    .innerJoin('nodes as node', 'node.id', 'part.node_id')
    .select(['node.id', 'node.status', 'node.back_to', 'part.hold'])
    .select((select) =>
      select
        .exists(
          select
            .selectFrom('maintenance_nodes as other')
            .select('other.window_id')
            .whereRef('other.node_id', '=', 'part.node_id')
            .whereRef('other.window_id', '<>', 'part.window_id')
            .where('other.hold', '=', 'held'),
        )
        .as('is_held_by_other'),
    )
    .where('part.window_id', '=', toUuid(windowId))
    .where('part.node_id', 'in', nodeIds.map(toUuid))
    .orderBy('node.id')
    .execute();
  return rows.map((row) => ({
    nodeId: fromUuid('nod', row.id),
    status: row.status,
    backTo: row.back_to,
    hold: row.hold,
    isHeldByOther: Boolean(row.is_held_by_other),
  }));
}

export async function setWindowNodeHold(
  tx: Tx,
  windowId: MaintenanceId,
  nodeIds: readonly NodeId[],
  hold: 'held' | 'left',
): Promise<void> {
  if (nodeIds.length === 0) return;
  await tx.kysely
    .updateTable('maintenance_nodes')
    .set({ hold })
    .where('window_id', '=', toUuid(windowId))
    .where('node_id', 'in', nodeIds.map(toUuid))
    .execute();
}

/** Releases a node from all windows whose drain has begun. The caller has locked the node. */
export async function releaseFromWindows(tx: Tx, nodeId: NodeId, now: Date): Promise<void> {
  await sql`
    update maintenance_nodes as part set hold = 'left'
      from maintenance_windows as windows
     where windows.id = part.window_id and part.node_id = ${toUuid(nodeId)} and part.hold <> 'left'
       and (part.hold = 'held' or (windows.status in ('announced', 'in_progress') and windows.drains_at <= ${now}))
  `.execute(tx.kysely);
}

interface AffectedAllocationRow {
  allocation_id: string;
  org_id: string;
  mode: Mode;
  external_id: string;
  node_ids: string[];
}

function toAffected(row: AffectedAllocationRow): AffectedAllocation {
  return {
    allocationId: fromUuid('alc', row.allocation_id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    externalId: row.external_id,
    nodeIds: row.node_ids.map((id) => fromUuid('nod', id)),
  };
}

/**
 * Records and returns up to `limit` live allocations without a notice of this window, sorted by organisation so that
 * one event covers several.
 */
export async function recordFirstNotices(
  tx: Tx,
  windowId: MaintenanceId,
  kind: NoticeKind,
  limit: number,
): Promise<readonly AffectedAllocation[]> {
  const { rows } = await sql<AffectedAllocationRow>`
    with untold as (
      select allocation.id as allocation_id, allocation.org_id, allocation.mode, allocation.external_id,
             array_agg(distinct sold.node_id) as node_ids
        from maintenance_nodes as part
        join allocated_gpus as sold on sold.node_id = part.node_id and sold.released_at is null
        join allocations as allocation on allocation.id = sold.allocation_id and allocation.state = 'live'
       where part.window_id = ${toUuid(windowId)}
         and not exists (select 1 from maintenance_notices as notice
                          where notice.window_id = part.window_id and notice.allocation_id = allocation.id)
       group by allocation.id
       order by allocation.org_id, allocation.mode, allocation.id
       limit ${limit}
    ), noted as (
      insert into maintenance_notices (window_id, allocation_id, org_id, mode, told, told_at)
      select ${toUuid(windowId)}, allocation_id, org_id, mode, ${kind}, ${tx.clock.now()} from untold
    )
    select * from untold
  `.execute(tx.kysely);
  return rows.map(toAffected);
}

/**
 * Records the new notice for up to `limit` allocations with an older one. Returns how many, and those still live;
 * released ones get no event.
 */
export async function recordFollowUpNotices(
  tx: Tx,
  windowId: MaintenanceId,
  kind: NoticeKind,
  limit: number,
): Promise<{ readonly noted: number; readonly touched: readonly AffectedAllocation[] }> {
  const { rows } = await sql<AffectedAllocationRow & { state: string }>`
    with outdated as (
      select notice.allocation_id from maintenance_notices as notice
       where notice.window_id = ${toUuid(windowId)} and notice.told <> 'ended' and notice.told <> ${kind}
       order by notice.org_id, notice.mode, notice.allocation_id
       limit ${limit}
    ), noted as (
      update maintenance_notices as notice set told = ${kind}, told_at = ${tx.clock.now()}
        from outdated
       where notice.window_id = ${toUuid(windowId)} and notice.allocation_id = outdated.allocation_id
    )
    select allocation.id as allocation_id, allocation.org_id, allocation.mode, allocation.external_id, allocation.state,
           array(select distinct sold.node_id
                   from allocated_gpus as sold
                   join maintenance_nodes as part
                     on part.node_id = sold.node_id and part.window_id = ${toUuid(windowId)}
                  where sold.allocation_id = allocation.id) as node_ids
      from outdated
      join allocations as allocation on allocation.id = outdated.allocation_id
  `.execute(tx.kysely);
  return { noted: rows.length, touched: rows.filter((row) => row.state === 'live').map(toAffected) };
}

/** A period in which a node is in maintenance. */
export interface NodeMaintenancePeriod {
  readonly nodeId: NodeId;
  readonly maintenanceId: MaintenanceId;
  readonly startsAt: Date;
  /** The actual end: earlier than announced if the window was cancelled. */
  readonly endsAt: Date;
}

/** Uses only the windows' times, so the answer about a past time never changes. */
export function windowsAt(
  reader: Reader,
  nodeIds: readonly NodeId[],
  at: Date,
): Promise<readonly NodeMaintenancePeriod[]> {
  return windowsBetween(reader, nodeIds, { from: at, to: at });
}

/** The windows of these nodes in a period, its ends included. */
export async function windowsBetween(
  reader: Reader,
  nodeIds: readonly NodeId[],
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<readonly NodeMaintenancePeriod[]> {
  if (nodeIds.length === 0) return [];
  const { rows } = await sql<{ node_id: string; id: string; starts_at: Date; over_at: Date }>`
    select part.node_id, windows.id, windows.starts_at, coalesce(windows.ended_at, windows.ends_at) as over_at
      from maintenance_nodes as part
      join maintenance_windows as windows on windows.id = part.window_id
     where part.node_id = any (${nodeIds.map(toUuid)}::uuid[])
       and windows.starts_at <= ${to} and coalesce(windows.ended_at, windows.ends_at) > ${from}
       and coalesce(windows.ended_at, windows.ends_at) > windows.starts_at
     order by part.node_id, windows.starts_at, windows.id
  `.execute(reader.kysely);
  return rows.map((row) => ({
    nodeId: fromUuid('nod', row.node_id),
    maintenanceId: fromUuid('mnt', row.id),
    startsAt: row.starts_at,
    endsAt: row.over_at,
  }));
}
