import type { Mode } from '@millrace/platform/envelope';
import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId, type PaymentId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql, type RawBuilder, type Selectable } from 'kysely';
import { isUndecided } from './decide-report.ts';
import type { Dispute, FailedRefund, Payment } from './payment.ts';

/** All SQL for payments and their disputes. */

const provider = 'stripe';

/** The class of advisory locks on intents, unique in the database. */
const INTENT_LOCK = 7_102_510;

/** The JSON in `failed_refunds`; amounts are text, because JSON numbers are not exact. */
interface FailedRefundRow {
  readonly ref: string;
  readonly nanoUsd: string;
  readonly at: string;
}

function toFailedRefundRow({ ref, amount, reportedAt }: FailedRefund): FailedRefundRow {
  return { ref, nanoUsd: String(amount), at: reportedAt.toISOString() };
}

/** Older processes write the refunded amount without a total. Otherwise the refunded amount never exceeds the total. */
function refundTotalOf(row: Selectable<Tables['payments']>): NanoUsd {
  const { refunded_nano_usd: refunded, refund_total_nano_usd: total } = row;
  return nanoUsd(refunded > total ? refunded : total);
}

function toPayment(row: Selectable<Tables['payments']>): Payment {
  return {
    id: fromUuid('pay', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    real: row.provider_live,
    state: row.state,
    amount: nanoUsd(row.amount_nano_usd),
    sessionRef: row.provider_ref,
    intentRef: row.provider_intent,
    successUrl: row.success_url,
    cancelUrl: row.cancel_url,
    checkoutUrl: row.checkout_url,
    credited: nanoUsd(row.credited_nano_usd),
    refunded: nanoUsd(row.refunded_nano_usd),
    refundReport: { total: refundTotalOf(row), reportedAt: row.refund_told_at },
    failedRefunds: (row.failed_refunds as unknown as readonly FailedRefundRow[]).map((failed) => ({
      ref: failed.ref,
      amount: nanoUsd(BigInt(failed.nanoUsd)),
      reportedAt: new Date(failed.at),
    })),
    clawedBack: nanoUsd(row.clawed_back_nano_usd),
    shortfall: nanoUsd(row.shortfall_nano_usd),
    clawbackTransfers: row.clawback_transfers.map((id) => fromUuid('trf', id)),
    moneySteps: row.money_steps,
    createdAt: row.created_at,
    paidAt: row.paid_at,
    checks: row.checks,
  };
}

export interface NewPayment {
  readonly mode: Mode;
  readonly real: boolean;
  readonly amount: NanoUsd;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly nextCheckAt: Date;
}

export async function insertPayment(tx: Tx, orgId: OrgId, fields: NewPayment): Promise<Payment> {
  const row = await tx.kysely
    .insertInto('payments')
    .values({
      id: toUuid(tx.ids.next('pay')),
      org_id: toUuid(orgId),
      mode: fields.mode,
      provider,
      provider_live: fields.real,
      amount_nano_usd: fields.amount,
      state: 'created',
      success_url: fields.successUrl,
      cancel_url: fields.cancelUrl,
      created_at: tx.clock.now(),
      next_check_at: fields.nextCheckAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toPayment(row);
}

export async function listCreditedSessions(reader: Reader, refs: string[]): Promise<ReadonlySet<string>> {
  if (refs.length === 0) return new Set();
  const rows = await reader.kysely
    .selectFrom('payments')
    .select('provider_ref')
    .where('provider_ref', 'in', refs)
    .where('credited_nano_usd', '>', 0n)
    .execute();
  return new Set(rows.flatMap(({ provider_ref }) => provider_ref ?? []));
}

export async function countUnpaid(reader: Reader, orgId: OrgId, mode: Mode): Promise<number> {
  const row = await reader.kysely
    .selectFrom('payments')
    .select((of) => of.fn.countAll<bigint>().as('count'))
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('state', 'in', ['created', 'open'])
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

export async function findPayment(reader: Reader, orgId: OrgId, mode: Mode, id: PaymentId) {
  const row = await reader.kysely
    .selectFrom('payments')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  return row === undefined ? null : toPayment(row);
}

export async function listPayments(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  page: { readonly limit: number; readonly after: PaymentId | null },
): Promise<readonly Payment[]> {
  let query = reader.kysely
    .selectFrom('payments')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode);
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toPayment);
}

/** The owner of a payment by our rows; the provider does not know organisations. */
export interface PaymentOwner {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly id: PaymentId;
}

async function findOwner(reader: Reader, condition: RawBuilder<boolean>): Promise<PaymentOwner | null> {
  const row = await reader.kysely
    .selectFrom('payments')
    .select(['id', 'org_id', 'mode'])
    .where('provider', '=', provider)
    .where(condition)
    .executeTakeFirst();
  if (row === undefined) return null;
  return { orgId: fromUuid('org', row.org_id), mode: row.mode, id: fromUuid('pay', row.id) };
}

export function findOwnerBySession(reader: Reader, sessionRef: string): Promise<PaymentOwner | null> {
  return findOwner(reader, sql`provider_ref = ${sessionRef}`);
}

export function findOwnerByIntent(reader: Reader, intentRef: string): Promise<PaymentOwner | null> {
  return findOwner(reader, sql`provider_intent = ${intentRef}`);
}

/** A payment whose session was created but not stored because of a crash. A payment with a session does not match. */
export function findOwnerWithoutSession(reader: Reader, id: PaymentId): Promise<PaymentOwner | null> {
  return findOwner(reader, sql`id = ${toUuid(id)} and provider_ref is null`);
}

/**
 * Serialises reports about one intent. Otherwise a dispute that arrives before its payment is known could miss the
 * transaction that matches the intent, and the reverse.
 */
export async function lockIntent(tx: Tx, intentRef: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${INTENT_LOCK}::int, hashtext(${intentRef}))`.execute(tx.kysely);
}

export async function lockPayment(tx: Tx, orgId: OrgId, id: PaymentId): Promise<Payment> {
  const row = await tx.kysely
    .selectFrom('payments')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .forUpdate()
    .executeTakeFirstOrThrow();
  return toPayment(row);
}

/** Requires the row lock of `lockPayment`. */
export async function savePayment(tx: Tx, orgId: OrgId, payment: Payment): Promise<void> {
  await tx.kysely
    .updateTable('payments')
    .set({
      state: payment.state,
      provider_ref: payment.sessionRef,
      provider_intent: payment.intentRef,
      credited_nano_usd: payment.credited,
      refunded_nano_usd: payment.refunded,
      refund_total_nano_usd: payment.refundReport.total,
      refund_told_at: payment.refundReport.reportedAt,
      failed_refunds: JSON.stringify(payment.failedRefunds.map(toFailedRefundRow)),
      clawed_back_nano_usd: payment.clawedBack,
      shortfall_nano_usd: payment.shortfall,
      clawback_transfers: payment.clawbackTransfers.map((id) => toUuid(id)),
      money_steps: payment.moneySteps,
      paid_at: payment.paidAt,
      // An undecided payment keeps the next check that the sweep has set.
      ...(isUndecided(payment.state) ? {} : { next_check_at: null, checkout_url: null }),
    })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(payment.id))
    .execute();
}

/** Stores the checkout session, unless a report was faster or another session is stored. */
export async function storeCheckout(
  tx: Tx,
  orgId: OrgId,
  id: PaymentId,
  checkout: { readonly sessionRef: string; readonly url: string | null },
): Promise<void> {
  await tx.kysely
    .updateTable('payments')
    .set({ provider_ref: checkout.sessionRef, checkout_url: checkout.url, state: 'open' })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('state', 'in', ['created', 'open'])
    .where((of) => of.or([of('provider_ref', 'is', null), of('provider_ref', '=', checkout.sessionRef)]))
    .execute();
}

/** Ends a payment that never had a checkout session. */
export async function endUnopenedPayment(
  tx: Tx,
  orgId: OrgId,
  id: PaymentId,
  state: 'failed' | 'expired',
): Promise<void> {
  await tx.kysely
    .updateTable('payments')
    .set({ state, next_check_at: null })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('state', '=', 'created')
    .execute();
}

/** Claims payments to check and doubles their interval, so that no two workers check the same payment. */
export async function claimDuePayments(
  tx: Tx,
  due: {
    /** Only payments in the mode of our Stripe key. */
    readonly real: boolean;
    readonly now: Date;
    readonly firstMs: number;
    readonly longestMs: number;
    readonly limit: number;
  },
): Promise<readonly Payment[]> {
  const offMs = sql<number>`least(${due.firstMs}::float8 * power(2, least(checks, 30)), ${due.longestMs}::float8)`;
  const rows = await tx.kysely
    .updateTable('payments')
    .set((of) => ({
      checks: of('checks', '+', 1),
      next_check_at: sql<Date>`${due.now}::timestamptz + ${offMs} * interval '1 millisecond'`,
    }))
    .where('id', 'in', (of) =>
      of
        .selectFrom('payments')
        .select('id')
        .where('next_check_at', '<=', due.now)
        .where('provider_live', '=', due.real)
        .orderBy('next_check_at')
        .limit(due.limit)
        .forUpdate()
        .skipLocked(),
    )
    .returningAll()
    .execute();
  return rows.map(toPayment);
}

export async function listDisputes(tx: Tx, orgId: OrgId, paymentId: PaymentId): Promise<readonly Dispute[]> {
  const rows = await tx.kysely
    .selectFrom('payment_disputes')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('payment_id', '=', toUuid(paymentId))
    .execute();
  return rows.map((row) => ({
    ref: row.dispute_ref,
    amount: nanoUsd(row.amount_nano_usd),
    standing: row.standing,
    reportedAt: row.told_at,
  }));
}

export async function saveDispute(tx: Tx, payment: Payment, dispute: Dispute): Promise<void> {
  const { amount, standing, reportedAt } = dispute;
  const reported = { amount_nano_usd: amount, standing, told_at: reportedAt };
  await tx.kysely
    .insertInto('payment_disputes')
    .values({
      provider,
      dispute_ref: dispute.ref,
      payment_id: toUuid(payment.id),
      org_id: toUuid(payment.orgId),
      mode: payment.mode,
      ...reported,
      created_at: tx.clock.now(),
    })
    .onConflict((conflict) => conflict.columns(['provider', 'dispute_ref']).doUpdateSet(reported))
    .execute();
}

/** Whether a dispute of the organisation is open or lost. */
export async function hasDisputesAgainst(reader: Reader, orgId: OrgId, mode: Mode): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('payment_disputes')
    .select('dispute_ref')
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('standing', 'in', ['open', 'lost'])
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
