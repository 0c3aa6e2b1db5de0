import { addUsd, zeroUsd } from '@millrace/platform/money';
import { requireLedgerSuccess, type LedgerCommand, type LedgerResult } from '../ledger/index.ts';
import type { MoneyCause } from '../ledger/index.ts';
import { clawbackTarget, decideClawback } from './decide-report.ts';
import type { Dispute, Payment } from './payment.ts';

/**
 * Computes the ledger commands that bring the ledger to the state of a payment. Pure. Computed again on the result,
 * there are none.
 */

export interface PaymentSettlement {
  readonly commands: readonly LedgerCommand[];
  settled(results: readonly LedgerResult[]): Payment;
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
  const credits: LedgerCommand[] = [];
  if (after.credited > before.credited) {
    credits.push({
      ...base,
      do: 'credit',
      kind: 'top_up',
      step: 'paid',
      amount,
      from: [{ account: { kind: 'payments_clearing' }, amount }],
      description: 'Top-up by card',
    });
  }

  const target = clawbackTarget(after, disputes);
  const clawback = decideClawback(after, target);
  const undone = clawback.kind === 'redo' ? after.clawbackTransfers : [];
  let steps = after.moneySteps;
  const undo = undone.map((transferId): LedgerCommand => ({
    ...base,
    do: 'reverse',
    step: `return:${(steps += 1)}`,
    transferId,
    description: 'Top-up clawback reversed: a dispute was won or a refund failed',
  }));
  const take: LedgerCommand[] = [];
  if (clawback.kind !== 'none' && clawback.amount > 0n) {
    take.push({
      ...base,
      do: 'debit',
      kind: 'clawback',
      step: `clawback:${(steps += 1)}`,
      amount: clawback.amount,
      to: [{ account: { kind: 'payments_clearing' }, amount: clawback.amount }],
      whenShort: 'shortfall',
      description: 'Top-up clawback: refunded or disputed',
    });
  }

  return {
    commands: [...credits, ...undo, ...take],
    settled: (results) => {
      const undoneFrom = credits.length;
      const takenFrom = undoneFrom + undo.length;
      for (const result of results.slice(0, undoneFrom)) requireLedgerSuccess(result);
      for (const result of results.slice(undoneFrom, takenFrom)) {
        // An operator may have undone the transfer; then nothing has to be returned.
        if (result.ok || result.reason !== 'TRANSFER_NOT_REVERSIBLE') requireLedgerSuccess(result);
      }
      const dones = results.slice(takenFrom).map((one) => requireLedgerSuccess(one));
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
