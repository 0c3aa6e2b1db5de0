import type { Tx } from '@millrace/platform/db';
import { parseId, type PaymentId } from '@millrace/platform/ids';
import { emitToppedUpEvent, recordDeposit, type ReadBurnRate } from '../billing/index.ts';
import { lockOrganisation, type PublishKeyChange } from '../identity/index.ts';
import { applyLedger, setFrozen } from '../ledger/index.ts';
import { decideReport, type Decision } from './decide-report.ts';
import { listUnmatchedReports, markEventApplied } from './payment-events.store.ts';
import type { Dispute, Payment, PaymentFact, Report, ReportOutcome } from './payment.ts';
import {
  findOwnerByIntent,
  findOwnerBySession,
  findOwnerWithoutSession,
  hasDisputesAgainst,
  listDisputes,
  lockIntent,
  lockPayment,
  saveDispute,
  savePayment,
  type PaymentOwner,
} from './payments.store.ts';
import { causeOfPayment, settlePayment } from './ledger-settlement.ts';

export interface DepositHooks {
  readonly burnOf: ReadBurnRate;
  /** Notifies the api processes that a rate limit was raised. */
  readonly announce?: PublishKeyChange;
}

export interface AppliedReport {
  readonly outcome: ReportOutcome;
  readonly paymentId: PaymentId | null;
  /** The reasons of mismatches of this report and of the stored reports applied with it. */
  readonly mismatches: readonly string[];
}

/**
 * Brings a payment and the ledger to the state of a report. Events, stored events and checks all use it: the first one
 * has an effect, and repetitions find nothing to do.
 *
 * Locks are taken in this order: intent (advisory), organisation, payment, ledger accounts.
 */
export async function applyReport(tx: Tx, hooks: DepositHooks, report: Report): Promise<AppliedReport> {
  const { fact } = report;
  if (fact.intentRef !== null) await lockIntent(tx, fact.intentRef);
  const owner = await findOwner(tx, fact);
  if (owner === null) return { outcome: 'unmatched', paymentId: null, mismatches: [] };
  await lockOrganisation(tx, owner.orgId);
  const before = await lockPayment(tx, owner.orgId, owner.id);
  const disputesBefore = await listDisputes(tx, owner.orgId, owner.id);

  const first = decideReport(before, disputesBefore, report);
  const { last, changed, mismatches } = await applyUnmatched(tx, before, first);
  for (const dispute of changed) await saveDispute(tx, last.payment, dispute);
  const credited = last.payment.credited > before.credited;
  if (credited) await recordPaymentDeposit(tx, hooks, last.payment);

  const settlement = settlePayment(before, last.payment, last.disputes);
  // The row must record what the ledger did, so it is written after the ledger; it is already locked.
  const settled = settlement.settled(await applyLedger(tx, settlement.commands));
  await savePayment(tx, owner.orgId, settled);
  await updateFreeze(tx, settled, { before: disputesBefore, after: last.disputes, credited });
  if (credited) await emitPaymentEvent(tx, hooks, settled);
  return { outcome: first.outcome, paymentId: owner.id, mismatches };
}

/** Our row decides. The session's metadata counts only for a row without a session. */
async function findOwner(tx: Tx, fact: PaymentFact): Promise<PaymentOwner | null> {
  if (fact.kind !== 'session') return findOwnerByIntent(tx, fact.intentRef);
  const known = await findOwnerBySession(tx, fact.sessionRef);
  if (known !== null || fact.claimedPayment === null) return known;
  const claimed = parseId('pay', fact.claimedPayment);
  return claimed === null ? null : findOwnerWithoutSession(tx, claimed);
}

/** Applies stored reports about the intent that this payment has just been matched with. */
async function applyUnmatched(tx: Tx, before: Payment, first: Decision) {
  const decisions = [first];
  let last = first;
  const { intentRef } = first.payment;
  const isNamed = before.intentRef === null && intentRef !== null;
  const waiting = isNamed ? await listUnmatchedReports(tx, intentRef) : [];
  for (const { eventId, ...report } of waiting) {
    last = decideReport(last.payment, last.disputes, report);
    decisions.push(last);
    await markEventApplied(tx, eventId, { paymentId: before.id, outcome: last.outcome });
  }
  return {
    last,
    changed: decisions.flatMap(({ dispute }) => dispute ?? []),
    mismatches: decisions.flatMap(({ why }) => (why === '' ? [] : [why])),
  };
}

const isAgainst = ({ standing }: Dispute): boolean => standing === 'open' || standing === 'lost';

/**
 * A new dispute freezes the account. A won dispute lifts the freeze if no other dispute is open or lost. If an operator
 * lifts it, it stays lifted until a new dispute.
 */
async function updateFreeze(
  tx: Tx,
  { orgId, mode }: Payment,
  change: Readonly<{ before: readonly Dispute[]; after: readonly Dispute[]; credited: boolean }>,
): Promise<void> {
  const wasAgainst = new Set(change.before.filter(isAgainst).map(({ ref }) => ref));
  const against = change.after.filter(isAgainst);
  const isNew = against.some(({ ref }) => change.credited || !wasAgainst.has(ref));
  if (isNew) {
    await setFrozen(tx, orgId, mode, true);
    return;
  }
  const isOver = change.after.some((dispute) => !isAgainst(dispute) && wasAgainst.has(dispute.ref));
  if (isOver && !(await hasDisputesAgainst(tx, orgId, mode))) await setFrozen(tx, orgId, mode, false);
}

async function recordPaymentDeposit(tx: Tx, { announce }: DepositHooks, payment: Payment): Promise<void> {
  await recordDeposit(tx, payment.orgId, payment.mode, {
    amount: payment.amount,
    cause: causeOfPayment(payment),
    ...(announce === undefined ? {} : { announce }),
  });
}

async function emitPaymentEvent(tx: Tx, { burnOf }: DepositHooks, payment: Payment): Promise<void> {
  await emitToppedUpEvent(tx, payment.orgId, payment.mode, {
    amount: payment.amount,
    source: 'payment',
    actor: { kind: 'system', id: 'payments' },
    burnOf,
  });
}
