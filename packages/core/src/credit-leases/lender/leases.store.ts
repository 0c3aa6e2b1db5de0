import type { LeaseServer } from '@millrace/credit-leases/protocol';
import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import type { BudgetId, HoldId, LeaseId, OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { organisationById } from '../../identity/index.ts';
import type { LedgerAmounts, LeaseView } from './lease-decisions.ts';

/** Stores lease series and their leases. Lock order: the series, its lease, then the accounts of the ledger. */

export interface LeaseSeriesRef {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly cell: number;
}

export interface BudgetGrant extends LedgerAmounts {
  readonly id: BudgetId;
  readonly holdId: HoldId;
  readonly changes: bigint;
}

export interface CreditLease extends LeaseView, LeaseSeriesRef {
  readonly id: LeaseId;
  readonly holdId: HoldId;
  readonly changes: bigint;
  /** The used amount at the last enlargement, and the time of it. */
  readonly used: bigint;
  readonly usedAt: Date;
  readonly state: 'open' | 'closing' | 'closed';
  readonly expiresAt: Date;
}

export interface LeaseRow {
  id: string;
  org_id: string;
  mode: Mode;
  cell: number;
  epoch: bigint;
  generation: bigint;
  hold_id: string;
  granted_nano_usd: bigint;
  recalled_nano_usd: bigint;
  settled_nano_usd: bigint;
  changes: bigint;
  used_nano_usd: bigint;
  used_at: Date;
  state: CreditLease['state'];
  expires_at: Date;
}

export function toLease(row: LeaseRow): CreditLease {
  return {
    id: fromUuid('lse', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    cell: row.cell,
    epoch: row.epoch,
    generation: row.generation,
    holdId: fromUuid('hld', row.hold_id),
    granted: row.granted_nano_usd,
    recalled: row.recalled_nano_usd,
    settled: row.settled_nano_usd,
    changes: row.changes,
    used: row.used_nano_usd,
    usedAt: row.used_at,
    state: row.state,
    expiresAt: row.expires_at,
  };
}

export async function readServer(reader: Reader, cell: number): Promise<LeaseServer | null> {
  const { rows } = await sql<LeaseServer>`
    select namespace, generation, incarnation from pot_servers where cell = ${cell}
  `.execute(reader.kysely);
  return rows[0] ?? null;
}

/** Begins a generation after `after`; null if another worker has begun one. The first one also creates the namespace. */
export async function beginGeneration(
  tx: Tx,
  cell: number,
  begin: { readonly after: bigint; readonly incarnation: string },
): Promise<LeaseServer | null> {
  const { rows } = await sql<LeaseServer>`
    insert into pot_servers as server (cell, generation, incarnation, initialised_at)
    values (${cell}, 1, ${begin.incarnation}, ${tx.clock.now()})
    on conflict (cell) do update
       set generation = server.generation + 1, incarnation = excluded.incarnation,
           initialised_at = excluded.initialised_at
     where server.generation = ${begin.after}
    returning namespace, generation, incarnation
  `.execute(tx.kysely);
  return rows[0] ?? null;
}

export interface LeaseSeries {
  readonly lastEpoch: bigint;
  readonly pausedUntil: Date | null;
}

/** Locks the series and creates it at its first use. Null if the organisation does not exist. */
export async function lockLeaseSeries(tx: Tx, lease: LeaseSeriesRef): Promise<LeaseSeries | null> {
  const org = toUuid(lease.orgId);
  const locked = () => sql<{ last_epoch: bigint; calm_until: Date | null }>`
    select last_epoch, calm_until from pots
     where org_id = ${org} and mode = ${lease.mode} and cell = ${lease.cell} for update
  `;
  let [row] = (await locked().execute(tx.kysely)).rows;
  if (row === undefined) {
    await sql`
      insert into pots (org_id, mode, cell, last_epoch)
      select id, ${lease.mode}, ${lease.cell}, coalesce((select epoch_floor from pot_servers where cell = ${lease.cell}), 0)
        from ${organisationById(lease.orgId)} as organisation
      on conflict do nothing
    `.execute(tx.kysely);
    [row] = (await locked().execute(tx.kysely)).rows;
  }
  return row === undefined ? null : { lastEpoch: row.last_epoch, pausedUntil: row.calm_until };
}

export async function pauseGrowth(tx: Tx, lease: LeaseSeriesRef, until: Date): Promise<void> {
  await sql`
    update pots set calm_until = ${until}
     where org_id = ${toUuid(lease.orgId)} and mode = ${lease.mode} and cell = ${lease.cell}
  `.execute(tx.kysely);
}

/** Gives all future leases of the cell epochs above the floor, also in series that do not exist yet. */
export async function raiseEpochFloor(tx: Tx, cell: number, floor: bigint): Promise<void> {
  await sql`
    update pot_servers set epoch_floor = greatest(epoch_floor, ${floor}) where cell = ${cell}
  `.execute(tx.kysely);
  const above = sql`update pots set last_epoch = ${floor} where cell = ${cell} and last_epoch < ${floor}`;
  await above.execute(tx.kysely);
}

export async function raiseLastEpoch(tx: Tx, lease: LeaseSeriesRef, above: bigint): Promise<void> {
  await sql`
    update pots set last_epoch = greatest(last_epoch, ${above})
     where org_id = ${toUuid(lease.orgId)} and mode = ${lease.mode} and cell = ${lease.cell}
  `.execute(tx.kysely);
}

export async function lockOpenLease(tx: Tx, lease: LeaseSeriesRef): Promise<CreditLease | null> {
  return findOpenLease(tx, lease, sql`for update`);
}

export async function findOpenLease(
  reader: Reader,
  lease: LeaseSeriesRef,
  lock = sql``,
): Promise<CreditLease | null> {
  const { rows } = await sql<LeaseRow>`
    select * from pot_leases
     where org_id = ${toUuid(lease.orgId)} and mode = ${lease.mode} and cell = ${lease.cell} and state = 'open' ${lock}
  `.execute(reader.kysely);
  return rows[0] === undefined ? null : toLease(rows[0]);
}

export async function lockLease(tx: Tx, orgId: OrgId, id: LeaseId): Promise<CreditLease | null> {
  const { rows } = await sql<LeaseRow>`
    select * from pot_leases where id = ${toUuid(id)} and org_id = ${toUuid(orgId)} for update
  `.execute(tx.kysely);
  return rows[0] === undefined ? null : toLease(rows[0]);
}

/** The total that closing leases of the series still hold and will return. */
export async function sumClosingHolds(reader: Reader, lease: LeaseSeriesRef): Promise<bigint> {
  const { rows } = await sql<{ total: bigint }>`
    select coalesce(sum(greatest(0, granted_nano_usd - recalled_nano_usd - settled_nano_usd)), 0)::bigint as total
      from pot_leases
     where org_id = ${toUuid(lease.orgId)} and mode = ${lease.mode} and cell = ${lease.cell} and state = 'closing'
  `.execute(reader.kysely);
  return rows[0]?.total ?? 0n;
}

/** The same total for each of these budgets. */
export async function sumClosingBudgetHolds(
  reader: Reader,
  lease: LeaseSeriesRef,
  ids: readonly BudgetId[],
): Promise<ReadonlyMap<BudgetId, bigint>> {
  const { rows } = await sql<{ budget_id: string; total: bigint }>`
    select lent.budget_id,
           sum(greatest(0, lent.granted_nano_usd - lent.recalled_nano_usd - lent.settled_nano_usd))::bigint as total
      from pot_leases lease join pot_lease_budgets lent on lent.lease_id = lease.id
     where lease.org_id = ${toUuid(lease.orgId)} and lease.mode = ${lease.mode} and lease.cell = ${lease.cell}
       and lease.state = 'closing' and lent.budget_id = any(${ids.map(toUuid)}::uuid[])
     group by lent.budget_id
  `.execute(reader.kysely);
  return new Map(rows.map((row) => [fromUuid('bdg', row.budget_id), row.total]));
}

export async function insertLease(tx: Tx, lease: CreditLease): Promise<void> {
  await sql`
    insert into pot_leases (id, org_id, mode, cell, epoch, generation, hold_id, granted_nano_usd, used_at, state,
                            opened_at, expires_at)
    values (${toUuid(lease.id)}, ${toUuid(lease.orgId)}, ${lease.mode}, ${lease.cell}, ${lease.epoch},
            ${lease.generation}, ${toUuid(lease.holdId)}, ${lease.granted}, ${lease.usedAt}, 'open',
            ${lease.usedAt}, ${lease.expiresAt})
  `.execute(tx.kysely);
  await sql`
    update pots set last_epoch = ${lease.epoch}
     where org_id = ${toUuid(lease.orgId)} and mode = ${lease.mode} and cell = ${lease.cell}
  `.execute(tx.kysely);
}

/** The row must be locked. */
export async function updateLease(tx: Tx, orgId: OrgId, lease: CreditLease): Promise<void> {
  const now = tx.clock.now();
  await sql`
    update pot_leases
       set granted_nano_usd = ${lease.granted}, recalled_nano_usd = ${lease.recalled}, changes = ${lease.changes},
           used_nano_usd = ${lease.used}, used_at = ${lease.usedAt}, state = ${lease.state},
           expires_at = ${lease.expiresAt},
           closing_at = case when ${lease.state} <> 'open' then coalesce(closing_at, ${now}) end,
           closed_at = case when ${lease.state} = 'closed' then coalesce(closed_at, ${now}) end
     where id = ${toUuid(lease.id)} and org_id = ${toUuid(orgId)}
  `.execute(tx.kysely);
}

export interface BudgetGrantRow {
  lease_id: string;
  budget_id: string;
  hold_id: string;
  granted_nano_usd: bigint;
  recalled_nano_usd: bigint;
  settled_nano_usd: bigint;
  changes: bigint;
}

export const toBudgetGrant = (row: BudgetGrantRow): BudgetGrant => ({
  id: fromUuid('bdg', row.budget_id),
  holdId: fromUuid('hld', row.hold_id),
  granted: row.granted_nano_usd,
  recalled: row.recalled_nano_usd,
  settled: row.settled_nano_usd,
  changes: row.changes,
});

export async function listBudgetGrants(db: Reader, orgId: OrgId, leaseId: LeaseId): Promise<BudgetGrant[]> {
  const { rows } = await sql<BudgetGrantRow>`
    select * from pot_lease_budgets
     where lease_id = ${toUuid(leaseId)} and org_id = ${toUuid(orgId)} order by budget_id
  `.execute(db.kysely);
  return rows.map(toBudgetGrant);
}

/** The lease row must be locked. */
export async function upsertBudgetGrant(
  tx: Tx,
  lease: Pick<CreditLease, 'id' | 'orgId' | 'mode'>,
  granted: BudgetGrant,
): Promise<void> {
  await sql`
    insert into pot_lease_budgets (lease_id, budget_id, org_id, mode, hold_id, granted_nano_usd)
    values (${toUuid(lease.id)}, ${toUuid(granted.id)}, ${toUuid(lease.orgId)}, ${lease.mode}, ${toUuid(granted.holdId)},
            ${granted.granted})
    on conflict (lease_id, budget_id) do update
       set granted_nano_usd = ${granted.granted}, recalled_nano_usd = ${granted.recalled}, changes = ${granted.changes}
  `.execute(tx.kysely);
}
