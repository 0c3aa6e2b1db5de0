import type { MachineState } from '@millrace/contract';
import { divideRoundDown, ppm, ppmPerWhole, type Ppm } from '@millrace/platform/money';

/**
 * Computes the reliability of a machine from measurements.
 * Only observed time counts, and only states that the host causes: offline is down; ready and draining are up.
 * Quarantine, registration and announced maintenance are neither.
 */

export interface TimeSpan {
  readonly from: Date;
  readonly to: Date;
}

export interface StateChange {
  readonly at: Date;
  readonly to: MachineState;
}

export interface ObservedNode {
  readonly span: TimeSpan;
  /** The observed time; null if there was none. */
  readonly watch: TimeSpan | null;
  /** Its state at the start of the span. */
  readonly state: MachineState;
  /** Changes within the span, oldest first. */
  readonly changes: readonly StateChange[];
  readonly away: readonly TimeSpan[];
}

export interface Uptime {
  readonly watchedMs: number;
  /** The part of `watchedMs` in which the machine was up. */
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
      // Uptime during maintenance counts; downtime during maintenance does not.
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

/** Overlapping spans count once. */
function unionDurationMs(stretches: readonly TimeSpan[]): number {
  let ms = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of stretches.toSorted((one, other) => one.from.getTime() - other.from.getTime())) {
    ms += Math.max(0, to.getTime() - Math.max(from.getTime(), end));
    end = Math.max(end, to.getTime());
  }
  return ms;
}

export interface ReliabilityCounters extends Uptime {
  /** Tenants' machines that started. */
  readonly starts: number;
  /** Tenants' machines that failed to start because of the host. */
  readonly failedStarts: number;
  /** Tenants' machines that were lost while running. */
  readonly losses: number;
}

export const zeroCounters = { watchedMs: 0, upMs: 0, starts: 0, failedStarts: 0, losses: 0 };

export interface Reliability {
  /** The product of the two below. */
  readonly score: Ppm;
  readonly uptime: Ppm;
  /** The likelihood that a started machine comes up and keeps running. */
  readonly starting: Ppm;
}

const HOUR_MS = 3_600_000;

/** Older measurements do not count. */
export const RELIABILITY_DAYS = 30;

/**
 * Assumed measurements of a new machine. Without them its first failure would decide everything, and a machine of one
 * minute would have the best score.
 */
const prior = { watchedMs: 24 * HOUR_MS, starts: 10, reliability: 900_000 } as const;

/** A lost machine harms a tenant more than a failed start. */
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
