import type { Mode } from '@millrace/platform/envelope';
import { isFault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';

/** Takes money back that was lent out for inference, up to this much. Answers what became available. */
export type RecallMoney = (wish: {
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** `all` that no request has set aside, because a budget was set since it was lent. */
  readonly amount: bigint | 'all';
}) => Promise<bigint>;

/** The cause of a refusal for want of money: how much was missing. */
export class MoneyMissing extends Error {
  override readonly name = 'MoneyMissing';
  readonly amount: bigint;
  constructor(amount: bigint) {
    super(`${amount} nano-USD were missing.`);
    this.amount = amount;
  }
}

/**
 * Does the work, and once more if it was refused for want of money and just that much could be taken back from where the
 * organisation had lent it. Never inside a transaction: whoever has the money is asked over the network. That it cannot be
 * asked changes nothing about the refusal.
 */
export async function withRecalledMoney<T>(
  { orgId, mode }: { readonly orgId: OrgId; readonly mode: Mode },
  recall: RecallMoney | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (recall === undefined || !isFault(error) || !(error.cause instanceof MoneyMissing)) throw error;
    const { amount } = error.cause;
    const freed = await recall({ orgId, mode, amount }).catch(() => 0n);
    if (freed < amount) throw error;
    return work();
  }
}
