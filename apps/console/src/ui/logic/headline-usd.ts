import { usdText } from '@millrace/sdk/text';

const NANO_PER_CENT = 10_000_000n;
const NANO_PER_HALF_CENT = 5_000_000n;

export interface HeadlineUsd {
  /** Rounded to cents, such as `$248.75`. */
  readonly text: string;
  /** The exact amount, such as `$248.749999999`; null if `text` is exact. */
  readonly exact: string | null;
}

/** Rounds half away from zero. An amount below half a cent is `< $0.01`, so that it never reads as free. */
export function headlineUsd(nano: string | bigint, { signed = false } = {}): HeadlineUsd {
  const amount = BigInt(nano);
  const size = amount < 0n ? -amount : amount;
  const rest = size % NANO_PER_CENT;
  const rounded = size - rest + (rest < NANO_PER_HALF_CENT ? 0n : NANO_PER_CENT);
  const sign = signOf(amount, signed);
  if (rounded === size) return { text: sign + usdText(size), exact: null };
  const text = rounded === 0n ? `< ${sign}$0.01` : sign + usdText(rounded);
  return { text, exact: sign + usdText(size) };
}

function signOf(amount: bigint, signed: boolean): string {
  if (amount < 0n) return '-';
  return signed && amount > 0n ? '+' : '';
}
