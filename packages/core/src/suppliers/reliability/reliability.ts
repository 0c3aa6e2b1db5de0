import type { MachineState } from '@millrace/contract';
import { divideRoundDown, ppm, ppmPerWhole, type Ppm } from '@millrace/platform/money';

/**
 * How reliable a machine is, by what was measured. Pure.
 *
 * Only time in which somebody looked counts, and only states that say something about the host: a machine that is offline
 * is down, one that sells or is drained is up. What an operator took out, what is being looked at for the first time and
 * what is away for announced maintenance is neither.
 */

export interface TimeSpan {
  readonly from: Date;
  readonly to: Date;
}

/** From this moment on the node had this state. */
export interface StateChange {
  readonly at: Date;
  readonly to: MachineState;
}

/** What is known about a node over some time. */
export interface ObservedNode {
  readonly span: TimeSpan;
  /** While somebody looked; null: nobody did. */
  readonly watch: TimeSpan | null;
  /** Its state at the begin of the span. */
  readonly state: MachineState;
  /** What became of it then, oldest first. */
  readonly changes: readonly StateChange[];
  /** Announced maintenance. */
  readonly away: readonly TimeSpan[];
}

export interface Uptime {
  /** Time that counts. */
  readonly watchedMs: number;
  /** Of that, time in which the machine was there. */
  readonly upMs: number;
}

const isUp: Readonly<Record<MachineState, boolean | null>> = {
  node_registering: null,
  node_ready: true,
  node_draining: true,
  node_offline: false,
  node_quarantined: null,
  node_removed: null,
};

export function measureUptime(watched: ObservedNode): Uptime {
  const { span, watch, changes } = watched;
  let watchedMs = 0;
  let upMs = 0;
  if (watch === null) return { watchedMs, upMs };
  let state = watched.state;
  let from = span.from;
  for (const { at, to } of [...changes, { at: span.to, to: watched.state }]) {
    const counts = isUp[state];
    const part = overlapOf(overlapOf({ from, to: at }, span), watch);
    if (counts !== null) {
      const ms = durationMs(part);
      // Being there during maintenance is to its credit; being away is no fault.
      const countedMs = counts ? ms : ms - unionDurationMs(watched.away.map((away) => overlapOf(away, part)));
      watchedMs += countedMs;
      upMs += counts ? countedMs : 0;
    }
    state = to;
    from = at;
  }
  return { watchedMs, upMs };
}

function overlapOf(one: TimeSpan, other: TimeSpan): TimeSpan {
  const from = one.from > other.from ? one.from : other.from;
  const to = one.to < other.to ? one.to : other.to;
  return { from, to: to > from ? to : from };
}

function durationMs({ from, to }: TimeSpan): number {
  return Math.max(0, to.getTime() - from.getTime());
}

/** Of all of them together; what two share counts once. */
function unionDurationMs(stretches: readonly TimeSpan[]): number {
  let ms = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of stretches.toSorted((one, other) => one.from.getTime() - other.from.getTime())) {
    ms += Math.max(0, to.getTime() - Math.max(from.getTime(), end));
    end = Math.max(end, to.getTime());
  }
  return ms;
}

/** What a machine did over the time that counts. */
export interface ReliabilityCounters extends Uptime {
  /** Machines of tenants that came up on it. */
  readonly starts: number;
  /** Those that did not, by a fault of the host. */
  readonly failedStarts: number;
  /** Those that were lost while they ran. */
  readonly losses: number;
}

export const zeroCounters = { watchedMs: 0, upMs: 0, starts: 0, failedStarts: 0, losses: 0 };

export interface Reliability {
  /** Both of the others together. */
  readonly score: Ppm;
  readonly uptime: Ppm;
  /** How likely what is started comes up and stays. */
  readonly starting: Ppm;
}

const HOUR_MS = 3_600_000;

/** For how long what a machine did counts. */
export const RELIABILITY_DAYS = 30;

/**
 * What a machine is believed before it has shown anything, as if it had done so for this long and so often. Without it the
 * first failure of a new machine would count for everything, and a machine of one minute would be the best of all.
 */
const prior = { watchedMs: 24 * HOUR_MS, starts: 10, reliability: 900_000 } as const;

/** A tenant loses more with what ran than with what never came up. */
const LOSS_WEIGHT = 3;

export function computeReliability(figures: ReliabilityCounters): Reliability {
  const { watchedMs, upMs, starts, failedStarts, losses } = figures;
  const uptime = shareOf(upMs, watchedMs, prior.watchedMs);
  const starting = shareOf(starts, starts + failedStarts + LOSS_WEIGHT * losses, prior.starts);
  return {
    uptime: ppm(Number(uptime)),
    starting: ppm(Number(starting)),
    score: ppm(Number(divideRoundDown(uptime * starting, ppmWhole))),
  };
}

const ppmWhole = BigInt(ppmPerWhole);

function shareOf(good: number, all: number, believed: number): bigint {
  const weighted = BigInt(good) * ppmWhole + BigInt(believed) * BigInt(prior.reliability);
  return divideRoundDown(weighted, BigInt(all) + BigInt(believed));
}
