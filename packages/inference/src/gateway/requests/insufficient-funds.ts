import type { InsufficientFunds } from '@millrace/credit-leases/client';
import type { FaultOptions } from '@millrace/platform/fault';
import { formatUsd, msToSecondsRoundUp, nanoUsd } from '@millrace/platform/money';

/** The message of a refusal for lack of funds: needed amount, available amount, and whether waiting helps. Pure. */
export function insufficientFundsOptions(funds: InsufficientFunds): FaultOptions {
  const { needed } = funds;
  // The balance is hidden, because an inference key might lack the scope to read it.
  const left = funds.of === 'budget' ? funds.left : null;
  const source = funds.of === 'budget' ? 'the budget' : 'the balance';
  const rest = left === null ? `more than ${source} has left` : `but only ${usd(left)} of ${source} is left`;
  const suggestion = suggestionFor(funds);
  const retryAfterSeconds = secondsToWait(funds);
  return {
    // OpenAI clients show only the message.
    message: `This request must reserve at least ${usd(needed)}, ${rest}. ${suggestion}`,
    suggestion,
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    extra: {
      needed_nano_usd: String(needed),
      ...(left === null ? {} : { available_nano_usd: String(left) }),
    },
  };
}

const usd = (amount: bigint): string => `${formatUsd(nanoUsd(amount))} USD`;

function secondsToWait({ isReserved, resetsInMs }: InsufficientFunds): number | null {
  if (isReserved) return 1;
  return resetsInMs === null ? null : msToSecondsRoundUp(resetsInMs);
}

function suggestionFor({ of, isReserved, resetsInMs }: InsufficientFunds): string {
  const less = 'request less (max_tokens, choices, prompt)';
  if (isReserved) {
    return `Running requests have reserved the rest and release what they do not use: retry after Retry-After, or ${less}.`;
  }
  if (of === 'balance') return `Top up, or ${less}.`;
  const later = resetsInMs === null ? '' : ', wait for its next period';
  return `Raise the budget${later}, or ${less}.`;
}
