import { divideRoundDown } from '@millrace/platform/money';

/** What is decided about pots, without asking anyone. Amounts are whole nano-USD; times are milliseconds. */

/** The absolute amounts of a pot, or of a budget's part in it. Each only grows, save what is reserved. */
export interface ValkeyAmounts {
  readonly granted: bigint;
  readonly recalled: bigint;
  readonly reserved: bigint;
  readonly spent: bigint;
}

export function remainingOf(amounts: ValkeyAmounts): bigint {
  return amounts.granted - amounts.recalled - amounts.reserved - amounts.spent;
}

export interface ModelReservation {
  readonly amount: bigint;
  readonly budgets: readonly string[];
}

/** What Valkey keeps of a pot. The scripts do to it what the functions below do; a test holds them to that. */
export interface ModelLease {
  readonly leaseId: string;
  readonly epoch: bigint;
  readonly amounts: ValkeyAmounts;
  readonly budgets: ReadonlyMap<string, ValkeyAmounts>;
  /** By gateway and request, joined by a colon. */
  readonly reservations: ReadonlyMap<string, ModelReservation>;
  readonly admitUntilMs: number;
  readonly closed: boolean;
}

export interface ModelGrant {
  readonly leaseId: string;
  readonly epoch: bigint;
  readonly granted: bigint;
  readonly budgets: ReadonlyMap<string, bigint>;
  readonly admitUntilMs: number;
}

export interface ModelReserveRequest {
  readonly epoch: bigint;
  readonly reservation: string;
  readonly amount: bigint;
  /** What will do where the amount cannot be had. */
  readonly least: bigint;
  readonly budgets: readonly string[];
  readonly nowMs: number;
}

export type ModelReserveResult =
  | { readonly outcome: 'admitted'; readonly amount: bigint; readonly remaining: bigint }
  | { readonly outcome: 'gone' | 'closed' | 'expired' }
  | ({ readonly outcome: 'dry' } & ModelInsufficientAmounts)
  | ({ readonly outcome: 'budget dry'; readonly budget: string } & ModelInsufficientAmounts);

interface ModelInsufficientAmounts {
  readonly remaining: bigint;
  /** What other requests have reserved: the part that they do not use comes back when they end. */
  readonly reserved: bigint;
}

type ModelTransition<T> = readonly [answer: T, pot: ModelLease | null];

const zeroValkeyAmounts: ValkeyAmounts = { granted: 0n, recalled: 0n, reserved: 0n, spent: 0n };

function maxOf(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

function minOf(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

function isEpochOf(lease: ModelLease | null, epoch: bigint): lease is ModelLease {
  return lease !== null && lease.epoch === epoch;
}

/** Applies a change to the amounts of the pot and of the budgets named. */
function changeAmounts(
  lease: ModelLease,
  budgets: readonly string[],
  change: (amounts: ValkeyAmounts) => ValkeyAmounts,
): ModelLease {
  const changed = new Map(lease.budgets);
  for (const budget of budgets) changed.set(budget, change(changed.get(budget) ?? zeroValkeyAmounts));
  return { ...lease, amounts: change(lease.amounts), budgets: changed };
}

/**
 * A pot begins once for each epoch and never goes back: credit that Valkey lost is lent again under another epoch. An epoch that
 * belongs to another lease was used by a ledger that has since been restored, so its money must not be inherited.
 */
export function openLease(old: ModelLease | null, grant: ModelGrant): ModelTransition<'opened' | 'stale'> {
  if (old !== null && old.epoch === grant.epoch && old.leaseId === grant.leaseId) return ['opened', old];
  if (old !== null && old.epoch >= grant.epoch) return ['stale', old];
  const budgets = new Map([...grant.budgets].map(([id, granted]) => [id, { ...zeroValkeyAmounts, granted }]));
  const { leaseId, epoch, admitUntilMs } = grant;
  const amounts = { ...zeroValkeyAmounts, granted: grant.granted };
  return [
    'opened',
    { leaseId, epoch, amounts, budgets, reservations: new Map(), admitUntilMs, closed: false },
  ];
}

/** Raises what is lent to an absolute amount: a message that comes late or twice changes nothing. */
export function enlargeLease(
  lease: ModelLease | null,
  grant: ModelGrant,
): ModelTransition<'granted' | 'gone' | 'closed'> {
  if (!isEpochOf(lease, grant.epoch) || lease.leaseId !== grant.leaseId) return ['gone', lease];
  if (lease.closed) return ['closed', lease];
  const budgets = new Map(lease.budgets);
  for (const [id, granted] of grant.budgets) {
    const before = budgets.get(id) ?? zeroValkeyAmounts;
    budgets.set(id, { ...before, granted: maxOf(before.granted, granted) });
  }
  const amounts = { ...lease.amounts, granted: maxOf(lease.amounts.granted, grant.granted) };
  const admitUntilMs = Math.max(lease.admitUntilMs, grant.admitUntilMs);
  return ['granted', { ...lease, amounts, budgets, admitUntilMs }];
}

/** Reserves the worst case of a request, or says why not. Asked again for the same request, it was admitted. */
export function reserveFromModel(
  lease: ModelLease | null,
  request: ModelReserveRequest,
): ModelTransition<ModelReserveResult> {
  if (!isEpochOf(lease, request.epoch)) return [{ outcome: 'gone' }, lease];
  const remaining = remainingOf(lease.amounts);
  const before = lease.reservations.get(request.reservation);
  if (before !== undefined) return [{ outcome: 'admitted', amount: before.amount, remaining }, lease];
  if (lease.closed) return [{ outcome: 'closed' }, lease];
  if (request.nowMs >= lease.admitUntilMs) return [{ outcome: 'expired' }, lease];
  const { reserved: inUse } = lease.amounts;
  if (request.least > remaining) return [{ outcome: 'dry', remaining, reserved: inUse }, lease];
  let amount = minOf(request.amount, remaining);
  for (const budget of request.budgets) {
    const amounts = lease.budgets.get(budget) ?? zeroValkeyAmounts;
    const left = remainingOf(amounts);
    if (request.least > left) {
      return [{ outcome: 'budget dry', budget, remaining: left, reserved: amounts.reserved }, lease];
    }
    amount = minOf(amount, left);
  }
  const reserved = changeAmounts(lease, request.budgets, (amounts) => ({
    ...amounts,
    reserved: amounts.reserved + amount,
  }));
  const reservations = new Map(lease.reservations).set(request.reservation, {
    amount,
    budgets: request.budgets,
  });
  return [
    { outcome: 'admitted', amount, remaining: remaining - amount },
    { ...reserved, reservations },
  ];
}

/** Turns a reservation into what was really spent. What was spent beyond it counts too. */
export function settleInModel(
  lease: ModelLease | null,
  end: { readonly epoch: bigint; readonly reservation: string; readonly actual: bigint },
): ModelTransition<'settled' | 'gone'> {
  const reservation = lease?.reservations.get(end.reservation);
  if (!isEpochOf(lease, end.epoch) || reservation === undefined) return ['gone', lease];
  const settled = changeAmounts(lease, reservation.budgets, (amounts) => ({
    ...amounts,
    reserved: amounts.reserved - reservation.amount,
    spent: amounts.spent + end.actual,
  }));
  const reservations = new Map(lease.reservations);
  reservations.delete(end.reservation);
  return ['settled', { ...settled, reservations }];
}

/**
 * Takes money back, as far as it is not reserved. `known` is what the book has on record as recalled: what an earlier
 * recall took without living to record it counts towards this one.
 */
export function recallFromModel(
  lease: ModelLease | null,
  request: { readonly epoch: bigint; readonly known: bigint; readonly wanted: bigint },
): ModelTransition<{ readonly recalled: bigint } | 'gone'> {
  if (!isEpochOf(lease, request.epoch)) return ['gone', lease];
  const before = lease.amounts.recalled;
  const missing = request.wanted - (before - request.known);
  const taken = maxOf(0n, minOf(missing, remainingOf(lease.amounts)));
  const recalled = before + taken;
  return [{ recalled }, { ...lease, amounts: { ...lease.amounts, recalled } }];
}

/** Ends admission for good and takes back everything that is not reserved, of the budgets too. */
export function closeLease(lease: ModelLease | null, epoch: bigint): ModelTransition<'closed' | 'gone'> {
  if (!isEpochOf(lease, epoch)) return ['gone', lease];
  const closed = changeAmounts(lease, [...lease.budgets.keys()], (amounts) => ({
    ...amounts,
    recalled: amounts.recalled + maxOf(0n, remainingOf(amounts)),
  }));
  return ['closed', { ...closed, closed: true }];
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

/**
 * Lua counts in doubles, exact below 2^53 nano-USD (9 million USD). A lease that was ever granted this much is
 * replaced by a new one, and no single request may need more.
 */
export const maxPerLease = 2n ** 52n;

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
export function expectedUsage(
  past: { readonly used: bigint; readonly inMs: number },
  overMs: number,
): bigint {
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

/** Why a request is turned away. Only a ledger that answered may say that there is no money. */
export type AdmissionErrorReason =
  | 'RATE_LIMITED'
  | 'INSUFFICIENT_BALANCE'
  | 'BUDGET_EXCEEDED'
  | 'ACCOUNT_FROZEN'
  | 'LEDGER_UNAVAILABLE';

export type LeaseErrorReason = 'no money' | 'budget exceeded' | 'frozen' | 'busy';

/** `null` stands for a ledger that did not answer. */
export function toAdmissionErrorReason(reason: LeaseErrorReason | null): AdmissionErrorReason {
  if (reason === 'no money') return 'INSUFFICIENT_BALANCE';
  if (reason === 'budget exceeded') return 'BUDGET_EXCEEDED';
  if (reason === 'frozen') return 'ACCOUNT_FROZEN';
  return 'LEDGER_UNAVAILABLE';
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
