import { maxPerLease } from '@millrace/credit-leases/protocol';
import { divideRoundDown } from '@millrace/platform/money';

/** The decisions of the lender about leases, as pure functions. Amounts are whole nano-USD; times are milliseconds. */

function maxOf(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

function minOf(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

/** What the book knows of a lease. */
export interface LedgerAmounts {
  readonly granted: bigint;
  readonly recalled: bigint;
  readonly settled: bigint;
}

/** What a lease must set aside: all that may still be charged to it. */
export function heldAmount(lease: LedgerAmounts): bigint {
  return maxOf(0n, lease.granted - lease.recalled - lease.settled);
}

/** What Valkey says was recalled, believed only as far as it can be true. */
export function clampRecalled(lease: LedgerAmounts, reported: bigint): bigint {
  return minOf(lease.granted, maxOf(lease.recalled, reported));
}

export interface GrantSizeRules {
  /** How long the pot should last at the recent burn while the ledger is away. */
  readonly outageMs: number;
  /** A pot is filled to this at least, money permitting, so that a quiet one need not ask for each request. */
  readonly least: bigint;
  /** The most of what is available that one grant takes, unless a request needs more. */
  readonly sharePercent: number;
}

/** Shorter than this, a time says nothing about the burn. */
const minUsagePeriodMs = 1_000;

/** What will be used in `overMs` at the rate of the recent past. */
export function expectedUsage(past: GrantSizeInput['past'], overMs: number): bigint {
  const inMs = Math.max(minUsagePeriodMs, Math.trunc(past.inMs));
  return divideRoundDown(maxOf(0n, past.used) * BigInt(Math.trunc(overMs)), BigInt(inMs));
}

export interface GrantSizeInput {
  /** What the request needs beyond what the pot has left. */
  readonly shortage: bigint;
  /** What all that wait need together. */
  readonly wanted: bigint;
  /** What the pot has left. */
  readonly remaining: bigint;
  readonly past: { readonly used: bigint; readonly inMs: number };
  readonly available: bigint;
  /** After a recall: only what those who wait would use, and nothing for later. */
  readonly paused: boolean;
}

/** How much to lend: null when the shortage cannot be met, else from the shortage up to what the outage asks for. */
export function sizeGrant(question: GrantSizeInput, rules: GrantSizeRules): bigint | null {
  const shortage = maxOf(0n, question.shortage);
  const available = maxOf(0n, question.available);
  if (shortage > available) return null;
  if (question.paused && shortage === 0n) return 0n;
  // A request that can be made smaller is short of little, but would be of little use: what it wants counts as well.
  const lasting = question.paused ? 0n : maxOf(rules.least, expectedUsage(question.past, rules.outageMs));
  const more = maxOf(lasting, question.wanted) - question.remaining;
  const allowed = divideRoundDown(available * BigInt(rules.sharePercent), 100n);
  return maxOf(shortage, minOf(more, allowed));
}

/** Below this the gateway asks for more before the pot is dry: a third of what the pot is filled to. */
export function lowWaterOf(filledTo: bigint): bigint {
  return divideRoundDown(maxOf(0n, filledTo), 3n);
}

export interface LeaseView extends LedgerAmounts {
  readonly epoch: bigint;
  readonly generation: bigint;
}

/** What the asking gateway had before its eyes; null when it knew no lease. */
export interface SeenLease {
  readonly epoch: bigint;
  readonly granted: bigint;
}

export type LeasePlan = 'open' | 'replace' | 'enlarge' | 'keep';

/**
 * What to do for a request: open a first lease, replace one that is of another server or has grown too large, enlarge
 * it, or only prolong it, because someone has enlarged it since the asker looked.
 */
export function planLease(
  lease: LeaseView | null,
  now: { generation: bigint; seen: SeenLease | null },
): LeasePlan {
  if (lease === null) return 'open';
  if (lease.generation !== now.generation) return 'replace';
  if (now.seen === null || now.seen.epoch !== lease.epoch || now.seen.granted < lease.granted) return 'keep';
  return 'enlarge';
}

/** Whether a lease may still grow by this much and be counted exactly. */
export function fitsInLease(lease: LedgerAmounts, more: bigint): boolean {
  return lease.granted + more <= maxPerLease;
}

export interface HolderEnd {
  readonly ended: { readonly stream: string; readonly seq: bigint } | null;
}

/** Everything this gateway will ever report of the lease has been worked through. */
export function isHolderProcessed(gateway: HolderEnd, passed: ReadonlyMap<string, bigint>): boolean {
  const { ended } = gateway;
  return ended !== null && (passed.get(ended.stream) ?? 0n) >= ended.seq;
}

/** Closing is by watermark, never by time: once everyone who was told of the lease has ended and been passed. */
export function canClose(holders: readonly HolderEnd[], passed: ReadonlyMap<string, bigint>): boolean {
  return holders.every((gateway) => isHolderProcessed(gateway, passed));
}

export interface LeaseTimes {
  /** How long a lease is good for without being prolonged. */
  readonly leaseMs: number;
  /** No request lasts longer: a gateway ends it. */
  readonly longestRequestMs: number;
  /** Silent for this long, a gateway counts as dead. */
  readonly deadAfterMs: number;
}

/** How long after it was prolonged a lease admits requests: each has ended when the lease has. */
export function admissionMs(times: LeaseTimes): number {
  return times.leaseMs - times.longestRequestMs;
}

/** A gateway that is declared dead must by then have stopped by its own clock, or it might spend what is given back. */
export function checkLeaseTimes(times: LeaseTimes): void {
  if (admissionMs(times) <= 0) {
    throw new RangeError(`A lease of ${times.leaseMs} ms ends before its longest request can.`);
  }
  if (times.deadAfterMs <= times.leaseMs) {
    throw new RangeError(
      `A gateway silent for ${times.deadAfterMs} ms may still use a lease of ${times.leaseMs} ms.`,
    );
  }
}
