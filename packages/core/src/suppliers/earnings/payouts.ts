import type { HoldId, OrgId, PayoutId, SupplierId, TransferId, UserId } from '@millrace/platform/ids';
import { subtractUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import type { EarnedBalance } from '../../ledger/index.ts';

export type PayoutStatus = 'requested' | 'paid' | 'rejected';

export type PayoutOutcome = Exclude<PayoutStatus, 'requested'>;

export interface Payout {
  readonly id: PayoutId;
  readonly supplierId: SupplierId;
  readonly supplierName: string;
  readonly orgId: OrgId;
  readonly amount: NanoUsd;
  readonly status: PayoutStatus;
  readonly reference: string | null;
  readonly reason: string | null;
  /** The hold on the amount until settlement. */
  readonly holdId: HoldId;
  readonly transferId: TransferId | null;
  readonly requestedBy: UserId;
  readonly requestedAt: Date;
  readonly settledAt: Date | null;
}

/**
 * The amount that can be requested: earned, not paid, not requested and matured. Negative if amounts already paid out
 * were returned to tenants.
 */
export function payableAmount({ balance, held }: EarnedBalance, maturing: NanoUsd): NanoUsd {
  const left = subtractUsd(balance, held);
  if (left <= zeroUsd) return left;
  const matured = subtractUsd(left, maturing);
  return matured > zeroUsd ? matured : zeroUsd;
}

/** Operators review each payout, so the number of pending ones is limited. */
export const PAYOUTS_WAITING_MAX = 20;

/** Repeating the same outcome is accepted; the opposite outcome is a conflict. */
export function payoutSettlementAction(
  status: PayoutStatus,
  outcome: PayoutOutcome,
): 'settle' | 'done' | 'conflict' {
  if (status === 'requested') return 'settle';
  return status === outcome ? 'done' : 'conflict';
}
