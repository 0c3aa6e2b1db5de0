import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId, type PayoutId, type TransferId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { Payout, PayoutOutcome, PayoutStatus } from './payouts.ts';
import type { SupplierPageRequest } from '../account/suppliers.store.ts';

type PayoutRow = Selectable<Tables['supplier_payouts']> & { readonly supplier_name: string };

function toPayout(row: PayoutRow): Payout {
  return {
    id: fromUuid('pyo', row.id),
    supplierId: fromUuid('sup', row.supplier_id),
    supplierName: row.supplier_name,
    orgId: fromUuid('org', row.org_id),
    amount: nanoUsd(row.amount_nano_usd),
    status: row.status,
    reference: row.reference,
    reason: row.reason,
    holdId: fromUuid('hld', row.hold_id),
    transferId: row.transfer_id === null ? null : fromUuid('trf', row.transfer_id),
    requestedBy: fromUuid('usr', row.requested_by),
    requestedAt: row.requested_at,
    settledAt: row.settled_at,
  };
}

async function select(reader: Reader, tail: RawBuilder<unknown>): Promise<readonly Payout[]> {
  const { rows } = await sql<PayoutRow>`
    select payout.*, supplier.name as supplier_name
      from supplier_payouts payout join suppliers supplier on supplier.id = payout.supplier_id ${tail}
  `.execute(reader.kysely);
  return rows.map(toPayout);
}

type PayoutPage = SupplierPageRequest<PayoutId>;

/** Newest first; returns one more than the limit if there are more. */
function selectPage(reader: Reader, which: RawBuilder<unknown>, { limit, after }: PayoutPage) {
  const older = after === null ? sql`true` : sql`payout.id < ${toUuid(after)}`;
  return select(reader, sql`where ${which} and ${older} order by payout.id desc limit ${limit + 1}`);
}

export function listPayouts(reader: Reader, orgId: OrgId, page: PayoutPage): Promise<readonly Payout[]> {
  return selectPage(reader, sql`payout.org_id = ${toUuid(orgId)}`, page);
}

/** For operators: payouts of all suppliers. */
export function listAllPayouts(
  reader: Reader,
  { status }: { readonly status: PayoutStatus | null },
  page: PayoutPage,
): Promise<readonly Payout[]> {
  return selectPage(reader, status === null ? sql`true` : sql`payout.status = ${status}`, page);
}

/** For operators: not limited to one organisation. */
export async function lockAnyPayout(tx: Tx, id: PayoutId): Promise<Payout | null> {
  const [payout] = await select(tx, sql`where payout.id = ${toUuid(id)} for no key update of payout`);
  return payout ?? null;
}

export interface PayoutSums {
  readonly waiting: number;
  readonly paid: NanoUsd;
}

export async function sumPayouts(reader: Reader, orgId: OrgId): Promise<PayoutSums> {
  const { rows } = await sql<{ waiting: bigint; paid: string }>`
    select count(*) filter (where status = 'requested') as waiting,
           coalesce(sum(amount_nano_usd) filter (where status = 'paid'), 0)::text as paid
      from supplier_payouts where org_id = ${toUuid(orgId)}
  `.execute(reader.kysely);
  return { waiting: Number(rows[0]?.waiting ?? 0n), paid: nanoUsd(BigInt(rows[0]?.paid ?? 0)) };
}

export async function insertPayout(
  tx: Tx,
  orgId: OrgId,
  payout: Pick<Payout, 'id' | 'supplierId' | 'amount' | 'holdId' | 'requestedBy' | 'requestedAt'>,
): Promise<void> {
  await tx.kysely
    .insertInto('supplier_payouts')
    .values({
      id: toUuid(payout.id),
      supplier_id: toUuid(payout.supplierId),
      org_id: toUuid(orgId),
      amount_nano_usd: payout.amount,
      status: 'requested',
      hold_id: toUuid(payout.holdId),
      requested_by: toUuid(payout.requestedBy),
      requested_at: payout.requestedAt,
    })
    .execute();
}

export async function setPayoutSettled(
  tx: Tx,
  orgId: OrgId,
  id: PayoutId,
  settlement: {
    readonly outcome: PayoutOutcome;
    readonly reference: string | null;
    readonly reason: string;
    readonly transferId: TransferId | null;
    readonly at: Date;
  },
): Promise<void> {
  const { numUpdatedRows } = await tx.kysely
    .updateTable('supplier_payouts')
    .set({
      status: settlement.outcome,
      reference: settlement.reference,
      reason: settlement.reason,
      transfer_id: settlement.transferId === null ? null : toUuid(settlement.transferId),
      settled_at: settlement.at,
    })
    .where('id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .where('status', '=', 'requested')
    .executeTakeFirstOrThrow();
  if (numUpdatedRows !== 1n) throw new Error(`Payout ${id} does not have status requested.`);
}
