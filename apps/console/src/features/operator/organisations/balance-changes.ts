import { parseUsd, usdText } from '@millrace/sdk/text';

/** What an act of an operator makes of a balance, worked out before it is done. Exact: whole nano-dollars throughout. */

export interface BalanceAmounts {
  readonly balanceNanoUsd: string;
  readonly heldNanoUsd: string;
  /** What new work can still use, an allowed overdraft included. */
  readonly availableNanoUsd: string;
  readonly maxOverdraftNanoUsd: string;
}

/** The most that the service moves by one act. */
export const MAX_CHANGE_NANO = 10_000_000n * 1_000_000_000n;

export type ParsedAmount = { readonly nano: bigint } | { readonly issue: string };

/** An amount that was typed. `signed`: it may be below zero. */
export function parseAmount(
  text: string,
  { signed = false }: { readonly signed?: boolean } = {},
): ParsedAmount {
  const nano = parseUsd(text);
  if (nano === null) {
    return { issue: 'The amount must be dollars with at most nine decimals, such as 25 or 12.50.' };
  }
  if (nano === 0n) return { issue: 'The amount must not be zero.' };
  if (nano < 0n && !signed) return { issue: 'The amount must be above zero.' };
  const size = nano < 0n ? -nano : nano;
  if (size > MAX_CHANGE_NANO) return { issue: `At most ${usdText(MAX_CHANGE_NANO)} at once.` };
  return { nano };
}

export interface BeforeAfter {
  readonly before: bigint;
  readonly after: bigint;
}

export interface BalanceChange {
  readonly balance: BeforeAfter;
  readonly available: BeforeAfter;
  /** Why the service will refuse it; false where it will not. */
  readonly issue: string | false;
}

/** Adds to a balance, or takes from it. What is taken is taken from what is available: holds are not touched. */
export function balanceChange(amounts: BalanceAmounts, nano: bigint): BalanceChange {
  const balance = BigInt(amounts.balanceNanoUsd);
  const available = BigInt(amounts.availableNanoUsd);
  const short = nano < 0n && available + nano < 0n;
  return {
    balance: { before: balance, after: balance + nano },
    available: { before: available, after: available + nano },
    issue: short && `Only ${usdText(available)} can be taken: holds and the floor of the balance stay.`,
  };
}

/** How far a refund of a charge can go: no more than it was. Earlier refunds of it are known to the service alone. */
export function parseRefund(chargeNano: string, text: string): ParsedAmount {
  const charged = -BigInt(chargeNano);
  if (text.trim() === '') return { nano: charged };
  const read = parseAmount(text);
  if ('nano' in read && read.nano > charged) {
    return { issue: `The charge was ${usdText(charged)}; no more than that is given back.` };
  }
  return read;
}

/** Another overdraft: what is available moves with it, the balance does not. */
export function overdraftChange(
  amounts: BalanceAmounts,
  text: string,
): BalanceChange & { readonly nano: bigint | null } {
  const nano = parseUsd(text);
  const balance = BigInt(amounts.balanceNanoUsd);
  const available = BigInt(amounts.availableNanoUsd);
  const after = available + (nano ?? 0n) - BigInt(amounts.maxOverdraftNanoUsd);
  const issue =
    (nano === null && 'The overdraft must be dollars, such as 100.') ||
    (nano !== null && nano < 0n && 'The overdraft must be zero or more.') ||
    (nano !== null && nano > MAX_CHANGE_NANO && `At most ${usdText(MAX_CHANGE_NANO)}.`) ||
    (after < 0n && `It is in use: at least ${usdText(-after + (nano ?? 0n))} must stay allowed.`);
  return {
    nano,
    balance: { before: balance, after: balance },
    available: { before: available, after },
    issue,
  };
}
