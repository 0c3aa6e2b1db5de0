import type { Mode } from '@millrace/platform/envelope';
import { isFault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';

/** Recalls up to this much credit from the organisation's leases and returns the amount that became available. */
export type RecallCredit = (request: {
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** `all` recalls all unreserved credit, because a budget was created or lowered after it was granted. */
  readonly amount: bigint | 'all';
}) => Promise<bigint>;

/** The cause of an INSUFFICIENT_BALANCE fault: how much money was missing. */
export class InsufficientFundsError extends Error {
  override readonly name = 'MoneyMissing';
  readonly amount: bigint;
  constructor(amount: bigint) {
    super(`${amount} nano-USD were missing.`);
    this.amount = amount;
  }
}

/** The missing amount if the work was refused for insufficient balance; otherwise null. */
export function missingFundsOf(error: unknown): bigint | null {
  return isFault(error) && error.cause instanceof InsufficientFundsError ? error.cause.amount : null;
}

/**
 * Does the work, and retries it once if the balance was insufficient and leases returned some credit. Part of the
 * missing amount may suffice, because a request may ask for more than its minimum. Do not call it inside a transaction:
 * the recall uses the network. If the recall fails, the refusal is rethrown.
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
