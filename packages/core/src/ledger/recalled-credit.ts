import type { Mode } from '@millrace/platform/envelope';
import { isFault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';

/** Takes money back that was lent out for inference, up to this much. Answers what became available. */
export type RecallCredit = (request: {
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** `all` that no request has set aside, because a budget was set since it was lent. */
  readonly amount: bigint | 'all';
}) => Promise<bigint>;

/** The cause of a refusal for want of money: how much was missing. */
export class InsufficientFundsError extends Error {
  override readonly name = 'MoneyMissing';
  readonly amount: bigint;
  constructor(amount: bigint) {
    super(`${amount} nano-USD were missing.`);
    this.amount = amount;
  }
}

/** How much money was missing, if the work was refused for that reason; otherwise null. */
export function missingFundsOf(error: unknown): bigint | null {
  return isFault(error) && error.cause instanceof InsufficientFundsError ? error.cause.amount : null;
}

/**
 * Does the work, and does it once more if it was refused for lack of money and some lent money of the organisation came back. A
 * part of the missing amount may suffice, since a refusal may ask for more than the minimum. Not for use inside a transaction:
 * the recall is a call over the network. If the recall fails, the refusal stands.
 */
export async function retryWithRecalledCredit<T>(
  { orgId, mode }: { readonly orgId: OrgId; readonly mode: Mode },
  recall: RecallCredit | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const amount = missingFundsOf(error);
    if (recall === undefined || amount === null) throw error;
    const freed = await recall({ orgId, mode, amount }).catch(() => 0n);
    if (freed === 0n) throw error;
    return work();
  }
}
