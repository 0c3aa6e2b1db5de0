import { parseUsd, usdText } from '@millrace/sdk/text';

/** Predicts the effect of an operator action on a balance, exact to the nano-USD. */

export interface BalanceAmounts {
  readonly balanceNanoUsd: string;
  readonly heldNanoUsd: string;
  /** Available for new work, including overdraft. */
  readonly availableNanoUsd: string;
  readonly maxOverdraftNanoUsd: string;
}

/** Limit of the service per action. */
export const MAX_CHANGE_NANO = 10_000_000n * 1_000_000_000n;

export type ParsedAmount = { readonly nano: bigint } | { readonly issue: string };

/** Parses an amount. `signed` allows negative amounts. */
export function parseAmount(
  text: string,
  { signed = false }: { readonly signed?: boolean } = {},
): ParsedAmount {
  const nano = parseUsd(text);
  if (nano === null) {
    return { issue: 'Enter dollars with at most nine decimals, such as 25 or 12.50.' };
  }
  if (nano === 0n) return { issue: 'Enter an amount other than zero.' };
  if (nano < 0n && !signed) return { issue: 'Enter an amount above zero.' };
  const size = nano < 0n ? -nano : nano;
  if (size > MAX_CHANGE_NANO) return { issue: `Enter at most ${usdText(MAX_CHANGE_NANO)}.` };
  return { nano };
}

export interface BeforeAfter {
  readonly before: bigint;
  readonly after: bigint;
}

export interface BalanceChange {
  readonly balance: BeforeAfter;
  readonly available: BeforeAfter;
  /** Why the service would reject the change, or false. */
  readonly issue: string | false;
}

/** Adds to a balance or deducts from its available part; holds are not touched. */
export function balanceChange(amounts: BalanceAmounts, nano: bigint): BalanceChange {
  const balance = BigInt(amounts.balanceNanoUsd);
  const available = BigInt(amounts.availableNanoUsd);
  const short = nano < 0n && available + nano < 0n;
  return {
    balance: { before: balance, after: balance + nano },
    available: { before: available, after: available + nano },
    issue: short && `You can deduct at most ${usdText(available)}: holds and the floor of the balance stay.`,
  };
}

/** Parses a refund of at most the charge. Only the service knows earlier refunds. */
export function parseRefund(chargeNano: string, text: string): ParsedAmount {
  const charged = -BigInt(chargeNano);
  if (text.trim() === '') return { nano: charged };
  const read = parseAmount(text);
  if ('nano' in read && read.nano > charged) {
    return { issue: `The charge was ${usdText(charged)}. You cannot refund more.` };
  }
  return read;
}

/** A new overdraft changes the available amount, not the balance. */
export function overdraftChange(
  amounts: BalanceAmounts,
  text: string,
): BalanceChange & { readonly nano: bigint | null } {
  const nano = parseUsd(text);
  const balance = BigInt(amounts.balanceNanoUsd);
  const available = BigInt(amounts.availableNanoUsd);
  const after = available + (nano ?? 0n) - BigInt(amounts.maxOverdraftNanoUsd);
  const issue =
    (nano === null && 'Enter dollars, such as 100.') ||
    (nano !== null && nano < 0n && 'Enter zero or more.') ||
    (nano !== null && nano > MAX_CHANGE_NANO && `Enter at most ${usdText(MAX_CHANGE_NANO)}.`) ||
    (after < 0n && `The overdraft is in use. Keep at least ${usdText(-after + (nano ?? 0n))}.`);
  return {
    nano,
    balance: { before: balance, after: balance },
    available: { before: available, after },
    issue,
  };
}
