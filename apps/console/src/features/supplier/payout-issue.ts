import { parseUsd, usdText } from '@millrace/sdk/text';

/** Validation message for a payout amount; false if valid. */
export function payoutIssue(text: string, payableNanoUsd: string): string | false {
  const nano = parseUsd(text);
  const payable = BigInt(payableNanoUsd);
  if (nano === null) return 'Enter dollars with at most nine decimals, such as 100 or 12.50.';
  if (nano <= 0n) return 'Enter an amount above zero.';
  return nano > payable && `Only ${usdText(payable)} is payable. Enter a smaller amount.`;
}
