import type { HoldId, OrgId, PayoutId, SupplierId, TransferId, UserId } from '@millrace/platform/ids';
import { subtractUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import type { EarnedBalance } from '../../ledger/index.ts';

/** What a supplier asked to be paid. Pure. */

export type PayoutStatus = 'requested' | 'paid' | 'rejected';

/** What an operator says became of it. */
export type PayoutOutcome = Exclude<PayoutStatus, 'requested'>;

export interface Payout {
  readonly id: PayoutId;
  readonly supplierId: SupplierId;
  readonly supplierName: string;
  readonly orgId: OrgId;
  readonly amount: NanoUsd;
  readonly status: PayoutStatus;
  readonly reference: string | null;
  /** What the operator said. */
  readonly reason: string | null;
  /** Sets the amount aside until it is settled. */
  readonly holdId: HoldId;
  readonly transferId: TransferId | null;
  readonly requestedBy: UserId;
  readonly requestedAt: Date;
  readonly settledAt: Date | null;
}

/**
 * What can be asked for: what was earned and neither paid nor asked for, less what was earned so recently that its tenant's payment
 * may still be taken back. Below zero when tenants were given back what had been paid out.
 */
export function payableAmount({ balance, held }: EarnedBalance, maturing: NanoUsd): NanoUsd {
  const left = subtractUsd(balance, held);
  if (left <= zeroUsd) return left;
  const matured = subtractUsd(left, maturing);
  return matured > zeroUsd ? matured : zeroUsd;
}

/** Each is looked at by a person, so a supplier cannot have any number that wait. */
export const PAYOUTS_WAITING_MAX = 20;

/** What is to be done when an operator settles a payout: the same again is no mistake, the opposite is. */
export function payoutSettlementAction(
  status: PayoutStatus,
  outcome: PayoutOutcome,
): 'settle' | 'done' | 'conflict' {
  if (status === 'requested') return 'settle';
  return status === outcome ? 'done' : 'conflict';
}
