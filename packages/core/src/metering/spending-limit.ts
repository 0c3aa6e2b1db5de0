import { addUsd, affordableMs, nanoUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { costAt, type Meter } from './meter.ts';

/** The cost of a resource that ends at `at`. A term counts in full from its start, because it is owed. */
export function costIfEndedAt(meters: readonly Meter[], at: Date): NanoUsd {
  return addUsd(zeroUsd, ...meters.map((meter) => costAt(meter, meter.termEndsAt ?? at)));
}

/** The last time at which the cost is at most `cap`, but not before the running interval. Null if nothing can reach a limit. */
export function limitReachedAt(meters: readonly Meter[], cap: NanoUsd | null): Date | null {
  const running = meters.filter((meter) => meter.runningSince !== null && meter.termEndsAt === null);
  const perHour = addUsd(zeroUsd, ...running.map(({ ratePerHour }) => ratePerHour));
  if (cap === null || perHour === 0n) return null;
  const startMs = Math.max(...running.map(({ runningSince }) => runningSince?.getTime() ?? 0));
  const isWithin = (ms: number): boolean => costIfEndedAt(meters, new Date(startMs + ms)) <= cap;
  if (!isWithin(0)) return new Date(startMs);
  // Each meter is rounded down separately, so their sum can be that many nano-USD too low.
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
