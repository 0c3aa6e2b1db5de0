import { addUsd, affordableMs, nanoUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { costAt, type Meter } from './meter.ts';

/** What ending a thing at `at` would leave it at. The whole of a term counts from its start: it is owed. */
export function costIfEndedAt(meters: readonly Meter[], at: Date): NanoUsd {
  return addUsd(zeroUsd, ...meters.map((meter) => costAt(meter, meter.termEndsAt ?? at)));
}

/**
 * The last millisecond at which a thing has not cost more than `cap`, or the start of what runs if that is too late
 * already; null: it has no limit, or nothing runs that could reach it.
 */
export function limitReachedAt(meters: readonly Meter[], cap: NanoUsd | null): Date | null {
  const running = meters.filter((meter) => meter.runningSince !== null && meter.termEndsAt === null);
  const perHour = addUsd(zeroUsd, ...running.map(({ ratePerHour }) => ratePerHour));
  if (cap === null || perHour === 0n) return null;
  const startMs = Math.max(...running.map(({ runningSince }) => runningSince?.getTime() ?? 0));
  const isWithin = (ms: number): boolean => costIfEndedAt(meters, new Date(startMs + ms)) <= cap;
  if (!isWithin(0)) return new Date(startMs);
  // Each meter is rounded down by itself, so together they can be that many nano-USD below their sum.
  const left = nanoUsd(cap - costIfEndedAt(meters, new Date(startMs)) + BigInt(running.length));
  let within = 0;
  let beyond = Math.min(Number(affordableMs(left, perHour) ?? 0n) + 1, LAST_INSTANT_MS - startMs);
  while (beyond - within > 1) {
    const middle = within + Math.trunc((beyond - within) * HALF);
    if (isWithin(middle)) within = middle;
    else beyond = middle;
  }
  return new Date(startMs + within);
}

const HALF = 0.5;
const LAST_INSTANT_MS = Date.UTC(9999, 11, 31);
