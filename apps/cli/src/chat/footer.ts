import { perSecond } from '@millrace/sdk/text';
import { usdText } from '@millrace/sdk/text';

/** What an answer came to: tokens, cost, latency. */

export interface AnswerUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number } | undefined;
  readonly cost_nano_usd?: number | undefined;
}

export interface Timing {
  /** Until the first word was there; null when none came. */
  readonly firstMs: number | null;
  readonly totalMs: number;
}

/** `12 tokens in (4 cached), 40 out · $0.0000123 · first after 0.2 s, 1.4 s in all (33.3 tokens/s)` */
export function footer(usage: AnswerUsage | null, timing: Timing): string {
  return [...(usage === null ? [] : usageTexts(usage)), timingText(usage, timing)].join(' · ');
}

function usageTexts(usage: AnswerUsage): string[] {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const tokens = [
    `${usage.prompt_tokens} tokens in`,
    ...(cached === 0 ? [] : [` (${cached} cached)`]),
    `, ${usage.completion_tokens} out`,
  ].join('');
  return [tokens, ...(usage.cost_nano_usd === undefined ? [] : [usdText(BigInt(usage.cost_nano_usd))])];
}

function timingText(usage: AnswerUsage | null, { firstMs, totalMs }: Timing): string {
  const all = secondsText(totalMs);
  if (firstMs === null) return all;
  const out = usage?.completion_tokens ?? 0;
  // One token has no speed: nothing came after it.
  const speed = out < 2 || totalMs <= firstMs ? '' : ` (${perSecond(out - 1, totalMs - firstMs)} tokens/s)`;
  return `first after ${secondsText(firstMs)}, ${all} in all${speed}`;
}

const secondsText = (ms: number): string => `${(ms * 0.001).toFixed(2)} s`;

/** What a whole chat came to. */
export interface Totals {
  readonly answers: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costNanoUsd: bigint;
  /** Answers whose cost is not in the sum: they were stopped, and what they cost is known a moment later. */
  readonly uncounted: number;
}

export const noTotals: Totals = { answers: 0, tokensIn: 0, tokensOut: 0, costNanoUsd: 0n, uncounted: 0 };

export function addAnswer(totals: Totals, usage: AnswerUsage | null): Totals {
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
  const counted = `${answers} ${answers === 1 ? 'answer' : 'answers'} · ${tokensIn} tokens in, ${tokensOut} out · ${usdText(costNanoUsd)}`;
  return uncounted === 0
    ? counted
    : `${counted}, and what ${uncounted} stopped ${uncounted === 1 ? 'one' : 'ones'} cost`;
}
