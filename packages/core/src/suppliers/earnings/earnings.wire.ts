import type { EarnedBalance, TransferPeriod } from '../../ledger/index.ts';
import type { NanoUsd } from '@millrace/platform/money';
import {
  earningsByDay,
  earningsByMachine,
  sumEarningTotals,
  toGpuSeconds,
  type DailyEarnings,
} from './earnings.ts';
import { payableAmount, type Payout } from './payouts.ts';
import type { Statement, StatementSummary } from './statements.ts';

export function toWireEarnings(found: {
  readonly account: EarnedBalance;
  readonly accrued: NanoUsd;
  readonly maturing: NanoUsd;
  readonly paidOut: NanoUsd;
  readonly period: TransferPeriod;
  readonly daily: readonly DailyEarnings[];
}) {
  const { account, period } = found;
  return {
    accruedNanoUsd: found.accrued.toString(),
    payableNanoUsd: payableAmount(account, found.maturing).toString(),
    maturingNanoUsd: found.maturing.toString(),
    requestedNanoUsd: account.held.toString(),
    paidOutNanoUsd: found.paidOut.toString(),
    from: period.from.toISOString(),
    until: period.until.toISOString(),
    earnedNanoUsd: sumEarningTotals(found.daily).earned.toString(),
    machines: earningsByMachine(found.daily).map(({ machineId, gpuMs, earned }) => ({
      machineId,
      gpuSeconds: toGpuSeconds(gpuMs),
      earnedNanoUsd: earned.toString(),
    })),
    days: earningsByDay(found.daily).map(({ day, gpuMs, earned }) => ({
      day: day.toISOString(),
      gpuSeconds: toGpuSeconds(gpuMs),
      earnedNanoUsd: earned.toString(),
    })),
  };
}

export function toWireStatementSummary(statement: StatementSummary) {
  return {
    id: statement.id,
    periodStart: statement.periodStart.toISOString(),
    periodEnd: statement.periodEnd.toISOString(),
    grossNanoUsd: statement.gross.toString(),
    feeNanoUsd: statement.fee.toString(),
    netNanoUsd: statement.net.toString(),
  };
}

export function toWireStatement(statement: Statement) {
  return {
    ...toWireStatementSummary(statement),
    lines: statement.lines.map(({ machineId, gpuSeconds, gross, fee }) => ({
      machineId,
      gpuSeconds,
      grossNanoUsd: gross.toString(),
      feeNanoUsd: fee.toString(),
    })),
  };
}

/** Suppliers see the operator's reason only for a rejection; other notes are internal to the operator. */
export function toWirePayout(payout: Payout) {
  return {
    id: payout.id,
    amountNanoUsd: payout.amount.toString(),
    status: payout.status,
    requestedAt: payout.requestedAt.toISOString(),
    settledAt: payout.settledAt?.toISOString() ?? null,
    reference: payout.reference,
    reason: payout.status === 'rejected' ? payout.reason : null,
  };
}

export function toWireAdminPayout(payout: Payout) {
  return {
    ...toWirePayout(payout),
    reason: payout.reason,
    supplierId: payout.supplierId,
    supplierName: payout.supplierName,
    organisationId: payout.orgId,
  };
}
