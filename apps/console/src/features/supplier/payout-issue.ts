import { parseUsd, usdText } from '@millrace/sdk/text';

/** Why this amount cannot be asked for; false where it can. */
export function payoutIssue(text: string, payableNanoUsd: string): string | false {
  const nano = parseUsd(text);
  const payable = BigInt(payableNanoUsd);
  if (nano === null) return 'The amount must be dollars with at most nine decimals, such as 100 or 12.50.';
  if (nano <= 0n) return 'The amount must be above zero.';
  return nano > payable && `Only ${usdText(payable)} is payable.`;
}
