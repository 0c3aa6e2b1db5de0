import { addUsd, zeroUsd } from '@millrace/platform/money';
import type { LedgerSuccess, LedgerCommand, LedgerResult, MoneyCause } from '../ledger/index.ts';
import { clawbackTarget, decideClawback } from './decide-report.ts';
import type { Dispute, Payment } from './payment.ts';

/**
 * From what a payment has become to the ledger, and back. Pure. The commands bring the ledger from what was moved so far
 * to what must have been; asked again on the result, there are none.
 */

export interface PaymentSettlement {
  readonly commands: readonly LedgerCommand[];
  /** The payment once the ledger has answered. `requireDone` turns a refusal into an error. */
  settled(
    results: readonly LedgerResult[],
    requireDone: (result: LedgerResult | undefined) => LedgerSuccess,
  ): Payment;
}

export function causeOfPayment(payment: Pick<Payment, 'id'>): MoneyCause {
  return { kind: 'payment', id: payment.id };
}

export function settlePayment(
  before: Payment,
  after: Payment,
  disputes: readonly Dispute[],
): PaymentSettlement {
  const { orgId, mode, amount } = after;
  const base = { orgId, mode, cause: causeOfPayment(after) };
  const credits: LedgerCommand[] =
    after.credited > before.credited
      ? [
          {
            ...base,
            do: 'credit',
            kind: 'top_up',
            step: 'paid',
            amount,
            from: [{ account: { kind: 'payments_clearing' }, amount }],
            description: 'Top-up by card',
          },
        ]
      : [];

  const target = clawbackTarget(after, disputes);
  const clawback = decideClawback(after, target);
  if (clawback.kind === 'none') {
    return {
      commands: credits,
      settled(results, requireDone) {
        for (const result of results) requireDone(result);
        return after;
      },
    };
  }

  const undone = clawback.kind === 'redo' ? after.clawbackTransfers : [];
  let steps = after.moneySteps;
  const undo = undone.map((transferId): LedgerCommand => ({
    ...base,
    do: 'reverse',
    step: `return:${(steps += 1)}`,
    transferId,
    description: 'Top-up given back: a dispute was won or a refund failed',
  }));
  const take: LedgerCommand[] =
    clawback.amount === 0n
      ? []
      : [
          {
            ...base,
            do: 'debit',
            kind: 'clawback',
            step: `clawback:${(steps += 1)}`,
            amount: clawback.amount,
            to: [{ account: { kind: 'payments_clearing' }, amount: clawback.amount }],
            whenShort: 'shortfall',
            description: 'Top-up taken back: refunded or disputed',
          },
        ];

  return {
    commands: [...credits, ...undo, ...take],
    settled: (results, requireDone) => {
      const [credited, returned, taken] = splitResults(results, credits.length, undo.length);
      for (const result of credited) requireDone(result);
      // An operator may have undone it by hand; then there is nothing left to give back.
      for (const result of returned) if (!isUndoneAlready(result)) requireDone(result);
      const dones = taken.map((one) => requireDone(one));
      const retained = clawback.kind === 'redo' ? [] : after.clawbackTransfers;
      const shortfallBefore = clawback.kind === 'redo' ? zeroUsd : after.shortfall;
      return {
        ...after,
        clawedBack: target,
        shortfall: addUsd(shortfallBefore, ...dones.map(({ shortfall }) => shortfall)),
        clawbackTransfers: [...retained, ...dones.flatMap(({ transferId }) => transferId ?? [])],
        moneySteps: steps,
      };
    },
  };
}

function splitResults(
  results: readonly LedgerResult[],
  first: number,
  second: number,
): readonly [readonly LedgerResult[], readonly LedgerResult[], readonly LedgerResult[]] {
  return [results.slice(0, first), results.slice(first, first + second), results.slice(first + second)];
}

function isUndoneAlready(result: LedgerResult): boolean {
  return !result.ok && result.reason === 'TRANSFER_NOT_REVERSIBLE';
}
