import { affordableMs, divideRoundDown, nanoUsd, type NanoUsd } from '@millrace/platform/money';

/** How fast a wallet spends its money, as metering knows it. */
export interface BurnRate {
  /** The hourly cost of everything that is running, without resources that were paid in advance. */
  readonly burnPerHour: NanoUsd;
  /** Money held for running time and not used yet, without money held for retention. May be negative. */
  readonly cover: NanoUsd;
}

/**
 * How long everything can continue to run; null if it is free. Held money counts, because running resources use it.
 * Warnings, stops, balances and quotes all use this figure.
 */
export function runwayMs(burn: BurnRate, available: NanoUsd): number | null {
  const ms = affordableMs(nanoUsd(burn.cover + available), burn.burnPerHour);
  return ms === null ? null : Number(ms);
}

const msPerSecond = 1_000n;
const largestSeconds = BigInt(Number.MAX_SAFE_INTEGER);

/** The runway in whole seconds, at most the largest safe integer in JSON. */
export function runwaySeconds(burn: BurnRate, available: NanoUsd): number | null {
  const ms = affordableMs(nanoUsd(burn.cover + available), burn.burnPerHour);
  if (ms === null) return null;
  const seconds = divideRoundDown(ms, msPerSecond);
  return Number(seconds > largestSeconds ? largestSeconds : seconds);
}
