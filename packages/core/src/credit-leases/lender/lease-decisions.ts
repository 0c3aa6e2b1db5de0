import { maxPerLease } from '@millrace/credit-leases/protocol';
import { divideRoundDown } from '@millrace/platform/money';

/** Pure decisions of the lender about leases. Amounts are nano-USD, times milliseconds. */

function maxOf(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

function minOf(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

/** The amounts of a lease in the ledger. */
export interface LedgerAmounts {
  readonly granted: bigint;
  readonly recalled: bigint;
  readonly settled: bigint;
}

/** The hold that a lease needs: everything that may still be charged to it. */
export function heldAmount(lease: LedgerAmounts): bigint {
  return maxOf(0n, lease.granted - lease.recalled - lease.settled);
}

/** The recalled amount that Valkey reported, limited to possible values. */
export function clampRecalled(lease: LedgerAmounts, reported: bigint): bigint {
  return minOf(lease.granted, maxOf(lease.recalled, reported));
}

export interface GrantSizeRules {
  /** How long the credit should last at the recent rate of usage while the ledger is unreachable. */
  readonly outageMs: number;
  /** A lease is filled to at least this amount if the balance allows, so that an idle one need not ask for each request. */
  readonly least: bigint;
  /** The largest share of the available balance that one grant takes, unless a request needs more. */
  readonly sharePercent: number;
}

/** Shorter periods do not predict the rate of usage. */
const minUsagePeriodMs = 1_000;

/** The expected usage in `overMs` at the recent rate. */
export function expectedUsage(past: GrantSizeInput['past'], overMs: number): bigint {
  const inMs = Math.max(minUsagePeriodMs, Math.trunc(past.inMs));
  return divideRoundDown(maxOf(0n, past.used) * BigInt(Math.trunc(overMs)), BigInt(inMs));
}

export interface GrantSizeInput {
  /** The amount that the request needs beyond the remaining credit. */
  readonly shortage: bigint;
  /** The amount that all waiting requests need together. */
  readonly wanted: bigint;
  readonly remaining: bigint;
  readonly past: { readonly used: bigint; readonly inMs: number };
  readonly available: bigint;
  /** After a recall: grant only what waiting requests need. */
  readonly paused: boolean;
}

/** Returns the amount to grant, from the shortage up to the amount for an outage; null if the shortage is not covered. */
export function sizeGrant(question: GrantSizeInput, rules: GrantSizeRules): bigint | null {
  const shortage = maxOf(0n, question.shortage);
  const available = maxOf(0n, question.available);
  if (shortage > available) return null;
  if (question.paused && shortage === 0n) return 0n;
  // A request that can be reduced has a small shortage, but its full amount is more useful, so `wanted` counts too.
  const lasting = question.paused ? 0n : maxOf(rules.least, expectedUsage(question.past, rules.outageMs));
  const more = maxOf(lasting, question.wanted) - question.remaining;
  const allowed = divideRoundDown(available * BigInt(rules.sharePercent), 100n);
  return maxOf(shortage, minOf(more, allowed));
}

/** Below a third of the filled amount, the gateway asks for more before the credit runs out. */
export function lowWaterOf(filledTo: bigint): bigint {
  return divideRoundDown(maxOf(0n, filledTo), 3n);
}

export interface LeaseView extends LedgerAmounts {
  readonly epoch: bigint;
  readonly generation: bigint;
}

/** The lease as the requesting gateway last observed it. */
export interface SeenLease {
  readonly epoch: bigint;
  readonly granted: bigint;
}

export type LeasePlan = 'open' | 'replace' | 'enlarge' | 'keep';

/**
 * Opens a lease, replaces one of another generation or one that has grown too large, enlarges it, or only renews it because
 * it was enlarged after the gateway's observation.
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

/** Whether the amounts of an enlarged lease remain exact in Lua. */
export function fitsInLease(lease: LedgerAmounts, more: bigint): boolean {
  return lease.granted + more <= maxPerLease;
}

export interface HolderEnd {
  readonly ended: { readonly stream: string; readonly seq: bigint } | null;
}

/** Whether the sink has processed everything that this gateway will ever report about the lease. */
export function isHolderProcessed(gateway: HolderEnd, passed: ReadonlyMap<string, bigint>): boolean {
  const { ended } = gateway;
  return ended !== null && (passed.get(ended.stream) ?? 0n) >= ended.seq;
}

/** A lease closes by watermark, never by time: after all holders have ended and the sink has processed their ends. */
export function canClose(holders: readonly HolderEnd[], passed: ReadonlyMap<string, bigint>): boolean {
  return holders.every((gateway) => isHolderProcessed(gateway, passed));
}

export interface LeaseTimes {
  /** How long a lease is valid without renewal. */
  readonly leaseMs: number;
  /** The gateway ends longer requests. */
  readonly longestRequestMs: number;
  /** A gateway without contact for this long is declared dead. */
  readonly deadAfterMs: number;
}

/** Admission ends early enough that every request has ended when the lease expires. */
export function admissionMs(times: LeaseTimes): number {
  return times.leaseMs - times.longestRequestMs;
}

/** A gateway must stop by its own clock before it is declared dead; otherwise it could spend released credit. */
export function checkLeaseTimes(times: LeaseTimes): void {
  if (admissionMs(times) <= 0) {
    throw new RangeError(
      `leaseMs (${times.leaseMs}) must be longer than the longest request (${times.longestRequestMs} ms).`,
    );
  }
  if (times.deadAfterMs <= times.leaseMs) {
    throw new RangeError(
      `deadAfterMs (${times.deadAfterMs}) must be greater than leaseMs (${times.leaseMs}).`,
    );
  }
}
