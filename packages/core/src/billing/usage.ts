import { divideRoundDown } from '@millrace/platform/money';
import type { NanoUsd } from '@millrace/platform/money';

/**
 * The fields of a transfer's `usage`, which charges write and reports sum. All are whole and not negative, also in a
 * credit: its kind says that it is a credit.
 */
export const usageUnits = {
  gpuMs: 'Milliseconds of use, times the number of GPUs.',
  gbMs: 'Milliseconds of a volume, times its size in GB.',
  requests: 'Inference requests.',
  promptTokens: 'Tokens read, including those from the cache.',
  cachedPromptTokens: 'Tokens read from the cache.',
  completionTokens: 'Tokens written.',
  images: 'Images generated.',
  characters: 'Characters converted to speech.',
} as const satisfies Record<string, string>;

export type UsageUnit = keyof typeof usageUnits;

/** The usage of a charge. Totals beyond 2^53 are decimal text. */
export type Usage = { readonly [Unit in UsageUnit]?: number | string } & {
  /** Groups the usage of tokens, images and characters by model. */
  readonly model?: string;
};

/** The kind of cause of each product's charges. */
export const productCause = {
  rentals: 'rental',
  volumes: 'volume',
  instances: 'instance',
  inference: 'inference',
} as const satisfies Record<string, string>;

export type UsageProduct = keyof typeof productCause;

export type UsageGrouping = 'day' | 'rental' | 'volume' | 'model' | 'key';

export interface UsageSum {
  readonly group: string;
  /** Charges less credits. */
  readonly cost: NanoUsd;
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

/** The period of a report; by default the last 31 days in UTC, including today. */
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

/** If more was credited than used, the result is zero. */
export function wholeSeconds(ms: bigint): number {
  return wholeCount(divideRoundDown(ms, msPerSecond));
}

/** Limited, because a JSON number is exact only up to 2^53. */
export function wholeCount(count: bigint): number {
  if (count <= 0n) return 0;
  const largest = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(count > largest ? largest : count);
}
