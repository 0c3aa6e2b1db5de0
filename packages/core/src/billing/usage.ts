import { divideRoundDown } from '@millrace/platform/money';
import type { NanoUsd } from '@millrace/platform/money';

/**
 * The words in which charges say what was used: the fields of a transfer's `usage`. Whoever charges writes them, usage
 * reports sum them up. All are whole numbers, never negative, also in a credit: that it gives back is said by its kind.
 */
export const usageUnits = {
  gpuMs: 'Milliseconds of use, times the number of GPUs.',
  gbMs: 'Milliseconds that a volume was there, times its size in GB.',
  requests: 'Inference requests.',
  promptTokens: 'Tokens read, those from the cache included.',
  cachedPromptTokens: 'Tokens read from the cache.',
  completionTokens: 'Tokens written.',
  images: 'Images made.',
  characters: 'Characters spoken.',
} as const satisfies Record<string, string>;

export type UsageUnit = keyof typeof usageUnits;

/** What a charge was for. Totals beyond 2^53 are written as decimal text. */
export type Usage = { readonly [Unit in UsageUnit]?: number | string } & {
  /** The model, where tokens, images or characters were sold: what usage by model is grouped by. */
  readonly model?: string;
};

/** What is sold, and the kind of cause that its charges have. */
export const productCause = {
  rentals: 'rental',
  volumes: 'volume',
  instances: 'instance',
  inference: 'inference',
} as const satisfies Record<string, string>;

export type UsageProduct = keyof typeof productCause;

export type UsageGrouping = 'day' | 'rental' | 'volume' | 'model' | 'key';

/** One line of a usage report. */
export interface UsageSum {
  readonly group: string;
  /** What it cost: charges less what was credited. */
  readonly cost: NanoUsd;
  /** The cost by what was sold. */
  readonly products: Readonly<Record<UsageProduct | 'other', NanoUsd>>;
  readonly gpuMs: bigint;
  readonly gbMs: bigint;
  readonly requests: bigint;
  readonly promptTokens: bigint;
  readonly completionTokens: bigint;
}

export interface UsagePeriod {
  readonly from: Date;
  readonly until: Date;
}

export type PeriodError = 'ends_before_it_begins' | 'too_long';

const dayMs = 86_400_000;
export const USAGE_DAYS_DEFAULT = 31;
export const USAGE_DAYS_MAX = 366;

/** The time a report is about. Left open, it is the last 31 days in UTC with the present one. */
export function usagePeriod(
  requested: { readonly from: Date | null; readonly until: Date | null },
  nowMs: number,
): UsagePeriod | PeriodError {
  const until = requested.until ?? new Date(nowMs);
  const from = requested.from ?? midnightBefore(until.getTime() - (USAGE_DAYS_DEFAULT - 1) * dayMs);
  if (from >= until) return 'ends_before_it_begins';
  if (until.getTime() - from.getTime() > USAGE_DAYS_MAX * dayMs) return 'too_long';
  return { from, until };
}

function midnightBefore(atMs: number): Date {
  const at = new Date(atMs);
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()));
}

const msPerSecond = 1_000n;

/** Whole seconds of something that was counted in milliseconds. More given back than used shows as nothing used. */
export function wholeSeconds(ms: bigint): number {
  return wholeCount(divideRoundDown(ms, msPerSecond));
}

/** A count for the wire, where a JSON number ends at 2^53. */
export function wholeCount(count: bigint): number {
  if (count <= 0n) return 0;
  const largest = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(count > largest ? largest : count);
}
