import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type BudgetId, type KeyId, type LeaseId } from '@millrace/platform/ids';
import type { OrgId, RequestId, TransferId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { toBudgetGrant, toLease } from './leases.store.ts';
import type { BudgetGrant, BudgetGrantRow, CreditLease, LeaseRow } from './leases.store.ts';

export type UsageOutcome = 'charged' | 'late' | 'unknown_lease' | 'overpriced';

export interface UsageCharge {
  readonly requestId: RequestId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly keyId: KeyId | null;
  readonly leaseId: LeaseId | null;
  readonly gatewayId: string;
  readonly product: string;
  readonly amount: bigint;
  readonly absorbed: bigint;
  readonly transferId: TransferId | null;
  readonly outcome: UsageOutcome;
}

export interface ChargedBudget extends BudgetGrant {
  readonly leaseId: LeaseId;
}

/** Locks the leases in the order of their ids. Every change of a lease takes this lock. */
export async function lockLeases(tx: Tx, ids: LeaseId[]): Promise<ReadonlyMap<LeaseId, CreditLease>> {
  const { rows } = await sql<LeaseRow>`
    select * from pot_leases where id = any(${ids.map(toUuid)}::uuid[]) order by id for update
  `.execute(tx.kysely);
  return new Map(rows.map(toLease).map((lease) => [lease.id, lease]));
}

export async function listBudgetsOfLeases(reader: Reader, ids: readonly LeaseId[]): Promise<ChargedBudget[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<BudgetGrantRow>`
    select * from pot_lease_budgets where lease_id = any(${ids.map(toUuid)}::uuid[]) order by lease_id, budget_id
  `.execute(reader.kysely);
  return rows.map((row) => ({ ...toBudgetGrant(row), leaseId: fromUuid('lse', row.lease_id) }));
}

export interface RecordedCharge {
  readonly amount: bigint;
  readonly recordedAt: Date;
  readonly outcome: UsageOutcome;
  readonly transferId: TransferId | null;
}

/** The recorded charges of these requests, of any organisation. */
export async function findCharges(
  reader: Reader,
  requestIds: readonly RequestId[],
): Promise<ReadonlyMap<RequestId, RecordedCharge>> {
  if (requestIds.length === 0) return new Map();
  type Row = {
    request_id: string;
    amount: bigint;
    outcome: UsageOutcome;
    transfer_id: string | null;
    recorded_at: Date;
  };
  const { rows } = await sql<Row>`
    select request_id, amount_nano_usd as amount, outcome, transfer_id, recorded_at from usage_charges
     where request_id = any(${requestIds.map(toUuid)}::uuid[])
  `.execute(reader.kysely);
  return new Map(
    rows.map(({ request_id: requestId, amount, outcome, transfer_id: transfer, recorded_at: recordedAt }) => {
      const transferId = transfer === null ? null : fromUuid('trf', transfer);
      return [fromUuid('req', requestId), { amount, outcome, transferId, recordedAt }];
    }),
  );
}

/** Requests with smaller ids are archived. Their charges may be deleted, so none of them is charged again. */
export async function readArchiveCutoff(reader: Reader): Promise<string> {
  const { rows } = await sql<{ cutoff: string }>`select usage_archive_cutoff() as cutoff`.execute(
    reader.kysely,
  );
  if (rows[0] === undefined) throw new Error('PostgreSQL returned no row for a select without a condition.');
  return rows[0].cutoff;
}

export async function insertCharges(tx: Tx, charges: readonly UsageCharge[]): Promise<void> {
  if (charges.length === 0) return;
  const uuid = (id: KeyId | LeaseId | TransferId | null): string | null => (id === null ? null : toUuid(id));
  await sql`
    insert into usage_charges (request_id, org_id, mode, key_id, lease_id, gateway_id, product, amount_nano_usd,
                               borne_nano_usd, transfer_id, outcome, recorded_at)
    select request_id, org_id, mode, key_id, lease_id, gateway_id, product, amount, borne, transfer_id, outcome,
           ${tx.clock.now()}
      from unnest(${charges.map(({ requestId }) => toUuid(requestId))}::uuid[],
                  ${charges.map(({ orgId }) => toUuid(orgId))}::uuid[],
                  ${charges.map(({ mode }) => mode)}::text[],
                  ${charges.map(({ keyId }) => uuid(keyId))}::uuid[],
                  ${charges.map(({ leaseId }) => uuid(leaseId))}::uuid[],
                  ${charges.map(({ gatewayId }) => gatewayId)}::text[],
                  ${charges.map(({ product }) => product)}::text[],
                  ${charges.map(({ amount }) => amount.toString())}::bigint[],
                  ${charges.map(({ absorbed }) => absorbed.toString())}::bigint[],
                  ${charges.map(({ transferId }) => uuid(transferId))}::uuid[],
                  ${charges.map(({ outcome }) => outcome)}::text[])
           as item (request_id, org_id, mode, key_id, lease_id, gateway_id, product, amount, borne, transfer_id, outcome)
  `.execute(tx.kysely);
}

/** Adds charges to leases and their budget grants. Their rows must be locked. */
export async function addSettled(
  tx: Tx,
  leases: ReadonlyMap<LeaseId, bigint>,
  budgets: readonly { readonly leaseId: LeaseId; readonly id: BudgetId; readonly amount: bigint }[],
): Promise<void> {
  await sql`
    update pot_leases lease set settled_nano_usd = settled_nano_usd + charged.amount
      from unnest(${[...leases.keys()].map(toUuid)}::uuid[], ${[...leases.values()].map(String)}::bigint[])
           as charged (id, amount)
     where lease.id = charged.id
  `.execute(tx.kysely);
  if (budgets.length === 0) return;
  await sql`
    update pot_lease_budgets lent set settled_nano_usd = settled_nano_usd + charged.amount, changes = changes + 1
      from unnest(${budgets.map(({ leaseId }) => toUuid(leaseId))}::uuid[],
                  ${budgets.map(({ id }) => toUuid(id))}::uuid[],
                  ${budgets.map(({ amount }) => amount.toString())}::bigint[]) as charged (lease_id, budget_id, amount)
     where lent.lease_id = charged.lease_id and lent.budget_id = charged.budget_id
  `.execute(tx.kysely);
}

/** Everything up to here was charged or recorded in this transaction or before. Never decreases. */
export async function advanceUsageWatermark(tx: Tx, stream: string, seq: bigint): Promise<void> {
  await sql`
    insert into usage_watermarks as mark (stream, passed_seq) values (${stream}, ${seq})
    on conflict (stream) do update set passed_seq = greatest(mark.passed_seq, excluded.passed_seq)
  `.execute(tx.kysely);
}

/** Locked until the transaction ends, so that only one sink processes a stream at a time. */
export async function lockUsageWatermark(tx: Tx, stream: string): Promise<bigint> {
  await sql`
    insert into usage_watermarks (stream, passed_seq) values (${stream}, 0) on conflict (stream) do nothing
  `.execute(tx.kysely);
  const { rows } = await sql<{ passed_seq: bigint }>`
    select passed_seq from usage_watermarks where stream = ${stream} for update
  `.execute(tx.kysely);
  return rows[0]?.passed_seq ?? 0n;
}

export async function readWatermarks(reader: Reader): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await sql<{ stream: string; passed_seq: bigint }>`
    select stream, passed_seq from usage_watermarks
  `.execute(reader.kysely);
  return new Map(rows.map((row) => [row.stream, row.passed_seq]));
}
