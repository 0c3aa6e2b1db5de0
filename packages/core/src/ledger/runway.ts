import { affordableMs, divideRoundDown, nanoUsd, type NanoUsd } from '@millrace/platform/money';

/** How fast a wallet's money goes, as whoever meters knows it. */
export interface BurnRate {
  /** What everything that runs costs in an hour. What is paid for in advance, as a whole, is left out. */
  readonly burnPerHour: NanoUsd;
  /** Held for running time and not used up yet; what is kept back for retention left out. May be negative. */
  readonly cover: NanoUsd;
}

/**
 * For how long everything can run on as it does; null when nothing costs anything. What running things hold is theirs to
 * use up, so it counts. Warnings, stops, the balance and quotes all go by this one figure.
 */
export function runwayMs(burn: BurnRate, available: NanoUsd): number | null {
  const ms = affordableMs(nanoUsd(burn.cover + available), burn.burnPerHour);
  return ms === null ? null : Number(ms);
}

const msPerSecond = 1_000n;
const largestSeconds = BigInt(Number.MAX_SAFE_INTEGER);

/** The same for people: in whole seconds that a JSON number can say. */
export function runwaySeconds(burn: BurnRate, available: NanoUsd): number | null {
  const ms = affordableMs(nanoUsd(burn.cover + available), burn.burnPerHour);
  if (ms === null) return null;
  const seconds = divideRoundDown(ms, msPerSecond);
  return Number(seconds > largestSeconds ? largestSeconds : seconds);
}
