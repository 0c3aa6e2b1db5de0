import { tokensPerSecond, usdText, type CompletionUsage, type Timing } from '@millrace/sdk/text';

/** Formats tokens, cost and latency of completions. */

/** `12 tokens in (4 cached), 40 out · $0.0000123 · first after 0.2 s, 1.4 s in all (33.3 tokens/s)` */
export function formatFooter(usage: CompletionUsage | null, timing: Timing): string {
  return [...(usage === null ? [] : usageTexts(usage)), timingText(usage, timing)].join(' · ');
}

function usageTexts(usage: CompletionUsage): string[] {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const tokens = [
    `${usage.prompt_tokens} tokens in`,
    ...(cached === 0 ? [] : [` (${cached} cached)`]),
    `, ${usage.completion_tokens} out`,
  ].join('');
  return [tokens, ...(usage.cost_nano_usd === undefined ? [] : [usdText(BigInt(usage.cost_nano_usd))])];
}

function timingText(usage: CompletionUsage | null, timing: Timing): string {
  const all = secondsText(timing.totalMs);
  if (timing.firstMs === null) return all;
  const speed = tokensPerSecond(usage, timing);
  return `first after ${secondsText(timing.firstMs)}, ${all} in all${speed === null ? '' : ` (${speed} tokens/s)`}`;
}

const secondsText = (ms: number): string => `${(ms * 0.001).toFixed(2)} s`;

/** The totals of a chat. */
export interface Totals {
  readonly answers: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costNanoUsd: bigint;
  /** Stopped completions, whose cost is known only later and is not in the sum. */
  readonly uncounted: number;
}

export const noTotals: Totals = { answers: 0, tokensIn: 0, tokensOut: 0, costNanoUsd: 0n, uncounted: 0 };

export function addUsage(totals: Totals, usage: CompletionUsage | null): Totals {
  if (usage?.cost_nano_usd === undefined) {
    return { ...totals, answers: totals.answers + 1, uncounted: totals.uncounted + 1 };
  }
  return {
    answers: totals.answers + 1,
    tokensIn: totals.tokensIn + usage.prompt_tokens,
    tokensOut: totals.tokensOut + usage.completion_tokens,
    costNanoUsd: totals.costNanoUsd + BigInt(usage.cost_nano_usd),
    uncounted: totals.uncounted,
  };
}

export function totalsText({ answers, tokensIn, tokensOut, costNanoUsd, uncounted }: Totals): string {
  const counted = `${answers} ${answers === 1 ? 'completion' : 'completions'} · ${tokensIn} tokens in, ${tokensOut} out · ${usdText(costNanoUsd)}`;
  return uncounted === 0
    ? counted
    : `${counted}, without the cost of ${uncounted} stopped ${uncounted === 1 ? 'completion' : 'completions'}`;
}
