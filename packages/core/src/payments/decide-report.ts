import { addUsd, fromCents, subtractUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import type {
  CreditedState,
  Dispute,
  DisputeFact,
  FailedRefundFact,
  Payment,
  PaymentState,
  RefundFact,
  RefundReport,
  Report,
  ReportOutcome,
  SessionFact,
} from './payment.ts';

/**
 * Decides the effect of a report from the payment, its disputes and the report. Pure. A report contains totals and
 * standings, never differences, so it may arrive late, twice or out of order.
 */

export interface Decision {
  readonly outcome: Exclude<ReportOutcome, 'unmatched'>;
  /** The reason of a mismatch, for the operator; otherwise empty. */
  readonly why: string;
  readonly payment: Payment;
  readonly disputes: readonly Dispute[];
  /** The dispute that is new or has changed. */
  readonly dispute: Dispute | null;
}

type Disputes = readonly Dispute[];

const currency = 'usd';
/** The undecided states, in order. */
const progress: readonly PaymentState[] = ['created', 'open', 'processing'];

export function isUndecided(state: PaymentState): boolean {
  return progress.includes(state);
}

export function decideReport(payment: Payment, disputes: Disputes, report: Report): Decision {
  const { fact } = report;
  if (fact.live !== payment.real) {
    return mismatch(
      payment,
      disputes,
      'the report is about test money and the payment about real money, or the reverse',
    );
  }
  if (fact.intentRef !== null && payment.intentRef !== null && fact.intentRef !== payment.intentRef) {
    return mismatch(payment, disputes, 'the report names another payment of the provider');
  }
  switch (fact.kind) {
    case 'session':
      return decideSession(payment, disputes, fact, report.occurredAt);
    case 'refund':
      return decideRefund(payment, disputes, fact, report.occurredAt);
    case 'refund-failed':
      return decideFailedRefund(payment, disputes, fact, report.occurredAt);
    case 'dispute':
      return decideDispute(payment, disputes, fact, report.occurredAt);
  }
}

function decideSession(payment: Payment, disputes: Disputes, fact: SessionFact, occurredAt: Date): Decision {
  if (payment.sessionRef !== null && payment.sessionRef !== fact.sessionRef) {
    return mismatch(payment, disputes, 'the report names another checkout session');
  }
  const intentRef = payment.intentRef ?? fact.intentRef;
  const known: Payment = { ...payment, sessionRef: fact.sessionRef, intentRef };
  const wrong = fact.status === 'paid' ? amountMismatchReason(payment, fact) : '';
  if (wrong !== '') {
    // An earlier correct credit stays; an uncredited payment must not be credited.
    const state = payment.credited === 0n ? 'mismatch' : payment.state;
    return mismatch({ ...known, state }, disputes, wrong);
  }
  if (payment.credited > 0n || payment.state === 'mismatch') return decisionOf(payment, known, disputes);
  if (fact.status === 'paid') {
    const paid: Payment = { ...known, credited: payment.amount, paidAt: occurredAt };
    return decisionOf(payment, withDerivedState(paid, disputes), disputes);
  }
  return decisionOf(payment, { ...known, state: stateBeforePaid(payment.state, fact.status) }, disputes);
}

function amountMismatchReason(payment: Payment, fact: SessionFact): string {
  if (fact.currency !== currency) return `the payment was paid in ${fact.currency}`;
  const paid = fromCents(BigInt(fact.amountCents));
  return paid === payment.amount ? '' : `${paid} nano-USD were paid instead of ${payment.amount}`;
}

/** Forward only: an older report does not revert a newer one. */
function stateBeforePaid(state: PaymentState, next: Exclude<SessionFact['status'], 'paid'>): PaymentState {
  if (!isUndecided(state)) return state;
  if (next === 'expired' || next === 'failed') return next;
  return progress.indexOf(next) > progress.indexOf(state) ? next : state;
}

function decideRefund(payment: Payment, disputes: Disputes, fact: RefundFact, occurredAt: Date): Decision {
  if (fact.currency !== currency)
    return mismatch(payment, disputes, `the refund was made in ${fact.currency}`);
  const reported = { total: fromCents(BigInt(fact.refundedCents)), reportedAt: occurredAt };
  const refundReport = isNewerTotal(reported, payment.refundReport) ? reported : payment.refundReport;
  const next = withRefunds({ ...payment, intentRef: fact.intentRef, refundReport }, disputes);
  if (next.refunded > payment.amount) return mismatch(next, disputes, 'more was refunded than was paid');
  return decisionOf(payment, next, disputes);
}

/** The newest total wins. Within one second, or against an old total without a time, the larger one wins. */
function isNewerTotal(reported: RefundReport & { readonly reportedAt: Date }, before: RefundReport): boolean {
  if (before.reportedAt === null) return reported.total >= before.total;
  const laterMs = reported.reportedAt.getTime() - before.reportedAt.getTime();
  return laterMs > 0 || (laterMs === 0 && reported.total > before.total);
}

function decideFailedRefund(
  payment: Payment,
  disputes: Disputes,
  fact: FailedRefundFact,
  occurredAt: Date,
): Decision {
  if (fact.currency !== currency) return mismatch(payment, disputes, `a refund in ${fact.currency} failed`);
  const { intentRef, refundRef: ref } = fact;
  const failed = { ref, amount: fromCents(BigInt(fact.amountCents)), reportedAt: occurredAt };
  const before = payment.failedRefunds.find((known) => known.ref === ref);
  // Several events report the same failed refund; the earliest one counts, in any order of arrival.
  if (before !== undefined && before.reportedAt <= occurredAt) {
    return decisionOf(payment, { ...payment, intentRef }, disputes);
  }
  const failedRefunds = [...payment.failedRefunds.filter((known) => known.ref !== ref), failed];
  return decisionOf(payment, withRefunds({ ...payment, intentRef, failedRefunds }, disputes), disputes);
}

/** A total that was reported before a refund failed still includes it; a later total does not. */
function withRefunds(payment: Payment, disputes: Disputes): Payment {
  const { refundReport, failedRefunds } = payment;
  const { total, reportedAt } = refundReport;
  const failed = failedRefunds.filter((each) => reportedAt === null || each.reportedAt >= reportedAt);
  const net = subtractUsd(total, addUsd(...failed.map(({ amount }) => amount)));
  return withDerivedState({ ...payment, refunded: net < 0n ? zeroUsd : net }, disputes);
}

/** The newest report by the provider's clock wins; within one second the higher rank. */
const rank = { inquiry: 0, open: 1, won: 2, lost: 2 } as const;

function decideDispute(payment: Payment, disputes: Disputes, fact: DisputeFact, occurredAt: Date): Decision {
  const before = disputes.find(({ ref }) => ref === fact.disputeRef);
  const known: Payment = { ...payment, intentRef: fact.intentRef };
  const inUsd = fact.currency === currency;
  // The exact amount is unknown in another currency, so the whole payment is disputed until the operator decides.
  const amount = inUsd ? fromCents(BigInt(fact.amountCents)) : payment.amount;
  const dispute: Dispute = { ref: fact.disputeRef, amount, standing: fact.standing, reportedAt: occurredAt };
  if (before !== undefined && !supersedes(dispute, before)) return decisionOf(payment, known, disputes);
  const now = [...disputes.filter(({ ref }) => ref !== dispute.ref), dispute];
  const next = withDerivedState(known, now);
  return {
    outcome: inUsd ? 'applied' : 'mismatch',
    why: inUsd ? '' : `the dispute is in ${fact.currency}`,
    payment: next,
    disputes: now,
    dispute,
  };
}

function supersedes(reported: Dispute, before: Dispute): boolean {
  if (reported.standing === before.standing && reported.amount === before.amount) return false;
  const laterMs = reported.reportedAt.getTime() - before.reportedAt.getTime();
  return laterMs > 0 || (laterMs === 0 && rank[reported.standing] > rank[before.standing]);
}

function withDerivedState(payment: Payment, disputes: Disputes): Payment {
  return payment.credited === 0n ? payment : { ...payment, state: creditedState(payment, disputes) };
}

function creditedState(payment: Payment, disputes: Disputes): CreditedState {
  if (disputes.some(({ standing }) => standing === 'open')) return 'disputed';
  if (disputes.some(({ standing }) => standing === 'lost')) return 'charged_back';
  return payment.refunded >= payment.amount ? 'refunded' : 'paid';
}

/** The total amount to take back: refunded plus disputed amounts, at most the credit. */
export function clawbackTarget(payment: Payment, disputes: Disputes): NanoUsd {
  const against = disputes.filter(({ standing }) => standing === 'open' || standing === 'lost');
  const total = addUsd(payment.refunded, ...against.map(({ amount }) => amount));
  return total > payment.credited ? payment.credited : total;
}

export type Clawback =
  | { readonly kind: 'none' }
  | { readonly kind: 'take'; readonly amount: NanoUsd }
  /**
   * Undoes all clawbacks and takes the smaller target again, so that each amount returns to its source, including
   * shortfall and promotional credit.
   */
  | { readonly kind: 'redo'; readonly amount: NanoUsd };

export function decideClawback(payment: Payment, target: NanoUsd): Clawback {
  if (target === payment.clawedBack) return { kind: 'none' };
  if (target < payment.clawedBack) return { kind: 'redo', amount: target };
  return { kind: 'take', amount: subtractUsd(target, payment.clawedBack) };
}

function mismatch(payment: Payment, disputes: Disputes, why: string): Decision {
  return { outcome: 'mismatch', why, payment, disputes, dispute: null };
}

function decisionOf(before: Payment, after: Payment, disputes: Disputes): Decision {
  const changed = (Object.keys(after) as (keyof Payment)[]).some((field) => after[field] !== before[field]);
  return { outcome: changed ? 'applied' : 'unchanged', why: '', payment: after, disputes, dispute: null };
}
