import type { Timer } from '@millrace/platform/clock';
import type { BudgetId } from '@millrace/platform/ids';
import { toDecision, uncountedDecision, type RateDecision } from '@millrace/platform/limiter';
import type { LeaseRequestResult, HeldLease, ActiveLease, LeaseNeed } from './held-lease.ts';
import { toAdmissionErrorReason } from './rejection-reasons.ts';
import { maxPerLease } from '../protocol/lease-scripts.ts';
import type { ReserveResult } from '../protocol/valkey-leases.ts';
import type { InsufficientFunds, ReserveRejection, Reservation, ReserveRequest } from './client-types.ts';
import { costsFor, limitSetOf, type LimitSet } from '../protocol/request-limits.ts';

/** How a request comes by its money: from the pot, and where that is dry from the ledger, in turns. */

/** A request that finds a pot dry asks, and may find it dry again because others were quicker. */
const maxTries = 8;

/** A request as it was asked for, checked. */
export interface CheckedReserveRequest extends ReserveRequest {
  readonly least: bigint;
  readonly set: LimitSet;
  readonly costs: readonly number[];
}

/** What to ask the ledger for, given what Valkey said. */
function leaseNeedOf(request: CheckedReserveRequest, result: ReserveResult | null): LeaseNeed {
  const { amount, least, budgets } = request;
  const short = (needed: bigint, remaining: bigint): bigint => (needed > remaining ? needed - remaining : 0n);
  if (result?.outcome === 'dry') return { shortage: short(least, result.remaining), budgets: [] };
  if (result?.outcome === 'budget dry') {
    const { budget: id, granted, remaining } = result;
    const shortage = short(least, remaining);
    return { shortage: 0n, budgets: [{ id, granted, shortage, wanted: short(amount, remaining) }] };
  }
  const shares = budgets.map((id) => ({ id, granted: 0n, shortage: least, wanted: amount }));
  return { shortage: least, budgets: shares };
}

/** A negative amount would make a pot larger, and one that Valkey cannot count would end a script half way. */
export function requireAmount(amount: bigint, most: bigint): void {
  if (amount < 0n || amount > most) throw new RangeError(`Not an amount of a request: ${amount} nano-USD.`);
}

export function checkReserveRequest(request: ReserveRequest): CheckedReserveRequest {
  const { least = request.amount } = request;
  requireAmount(request.amount, 2n ** 63n - 1n);
  requireAmount(least, request.amount);
  const set = limitSetOf(request.orgId, request.limits);
  // No lease holds more; where less will do, it is asked for no more than can be counted.
  const amount = request.amount > maxPerLease && least < request.amount ? maxPerLease : request.amount;
  return { ...request, amount, least, set, costs: costsFor(set, request.tokens) };
}

/** What Valkey said of the limits, if it looked at them. */
function rateOf({ set, costs }: CheckedReserveRequest, result: ReserveResult | null): RateDecision {
  if (result === null || result.used === null) return uncountedDecision(set.limits);
  return toDecision(result.outcome !== 'limited', set.limits, costs, result.used);
}

/** Whether what Valkey has would do for a request that can be made smaller. */
function isEnough(result: ReserveResult | null, least: bigint): boolean {
  return (result?.outcome === 'dry' || result?.outcome === 'budget dry') && result.remaining >= least;
}

export interface LimitCounter {
  readonly clock: Timer;
  /** What the limits are, for a request that has no pot to ask. */
  readonly peek: (request: CheckedReserveRequest) => Promise<RateDecision>;
  /** Counts a request that was turned away. */
  readonly count: (request: CheckedReserveRequest) => Promise<RateDecision>;
}

/** Asks the pot once. What it did not admit is counted out again, also when its answer is not known. */
async function reserveInValkey(
  { lease, leases }: ActiveLease,
  held: HeldLease,
  request: CheckedReserveRequest,
  { least, clock }: { readonly least: bigint; readonly clock: Timer },
): Promise<ReserveResult | Reservation> {
  const { epoch, leaseId } = lease;
  const { orgId, mode, requestId, amount, budgets, limits, tokens, set, costs } = request;
  const gatewayId = held.epochs.gatewayId;
  const reservedAtMs = clock.monotonicMs();
  // Counted before Valkey is asked: an end must not be reported while an admission may be under way.
  held.epochs.enter(epoch, requestId);
  let isAdmitted = false;
  try {
    const sent = { epoch, gatewayId, requestId, amount, least, budgets, limits: set, costs };
    const result = await leases.reserve(request, sent);
    if (result.outcome === 'admitted' || result.outcome === 'dry') {
      held.recordState({ epoch, granted: result.granted, remaining: result.remaining });
    }
    if (result.outcome !== 'admitted') return result;
    isAdmitted = true;
    const rate = rateOf(request, result);
    return {
      ...{ orgId, mode, requestId, amount: result.amount, budgets, limits, tokens },
      ...{ leaseId, epoch, gatewayId, reservedAtMs, rate },
    };
  } catch (error) {
    // It may have run. Nothing will be used of it; what cannot be given back now stays until the epoch ends.
    const requests = [{ requestId, actual: 0n }];
    void leases.settle(request, { epoch, gatewayId, requests, back: [] }).catch(() => undefined);
    throw error;
  } finally {
    if (!isAdmitted) held.epochs.leave(epoch, requestId);
  }
}

/** Why the request cannot be, after what the ledger answered; or null to try again. */
function errorReasonIn(
  { reply, requestedMore }: LeaseRequestResult,
  request: CheckedReserveRequest,
): ReserveRejection['refused'] | null {
  if (reply === null) return toAdmissionErrorReason(null);
  if (reply.outcome === 'refused') {
    const short = reply.reason === 'no money' || reply.reason === 'budget exceeded';
    if (reply.reason === 'dead' || (short && requestedMore)) return null;
    return toAdmissionErrorReason(reply.reason);
  }
  const isOwn = (id: BudgetId): boolean => request.budgets.includes(id);
  if (reply.exceeded.some(isOwn)) return 'BUDGET_EXCEEDED';
  return reply.returning.some(isOwn) ? toAdmissionErrorReason(null) : null;
}

/** What is missing, by what Valkey and the ledger said last. */
function insufficientFundsOf(
  request: CheckedReserveRequest,
  refused: ReserveRejection['refused'],
  valkeyResult: ReserveResult | null,
  { reply }: LeaseRequestResult,
): InsufficientFunds | null {
  if (refused !== 'INSUFFICIENT_BALANCE' && refused !== 'BUDGET_EXCEEDED') return null;
  const remainders = reply?.outcome === 'leased' ? reply.left : undefined;
  const exceeded = remainders?.find(({ id }) => request.budgets.includes(id));
  const had = reply?.outcome === 'refused' ? reply.available : exceeded?.amount;
  const dry = valkeyResult?.outcome === 'dry' || valkeyResult?.outcome === 'budget dry' ? valkeyResult : null;
  const remaining = dry !== null && dry.remaining > 0n ? dry.remaining : 0n;
  const left = had === undefined ? null : had + remaining;
  return {
    of: refused === 'BUDGET_EXCEEDED' ? 'budget' : 'balance',
    needed: request.least,
    left,
    isReserved: dry !== null && dry.reserved > 0n && (left ?? remaining) + dry.reserved >= request.least,
    // The next period does not help a request that a whole one does not cover.
    resetsInMs: exceeded !== undefined && exceeded.limit >= request.least ? exceeded.resetsInMs : null,
  };
}

/** How often a request waits for others that are over to give back what they did not use. */
const maxWaits = 3;

/** Tries again as requests that are over give back what they did not use. */
async function reserveAfterSettlements(
  held: HeldLease,
  request: CheckedReserveRequest,
  clock: Timer,
): Promise<Reservation | null> {
  for (let waits = 0; waits < maxWaits && (await request.nextSettled?.()) === true; waits += 1) {
    // The ledger may have the rest of what the pot lacks, so it is asked once before the second attempt.
    for (const isLast of [false, true]) {
      const holding = held.current();
      if (holding === null) return null;
      const got = await reserveInValkey(holding, held, request, { least: request.least, clock });
      if ('leaseId' in got) return got;
      if (got.outcome !== 'dry' && got.outcome !== 'budget dry') return null;
      if (isLast || errorReasonIn(await held.requestMore(leaseNeedOf(request, got)), request) !== null) break;
    }
  }
  return null;
}

/** The reservation, or why there is none. Rejects when Valkey cannot be asked. */
export async function reserveFromLease(
  held: HeldLease,
  request: CheckedReserveRequest,
  counter: LimitCounter,
): Promise<Reservation | ReserveRejection> {
  const { clock, peek } = counter;
  // The whole first, where less would do: the ledger is asked before a request is made smaller.
  let least = held.isPoor(request.budgets) ? request.least : request.amount;
  let missing: BudgetId | 'money' | null = null;
  let rate: RateDecision | null = null;
  for (let nth = 0; nth < maxTries; nth += 1) {
    const holding = held.current();
    let valkeyResult: ReserveResult | null = null;
    if (holding !== null) {
      const got = await reserveInValkey(holding, held, request, { least, clock });
      if ('leaseId' in got) {
        if (missing !== null && got.amount < request.amount) held.notePoor(missing);
        held.refillAhead();
        return got;
      }
      valkeyResult = got;
      rate = rateOf(request, valkeyResult);
      if (valkeyResult.outcome === 'limited') return { refused: 'RATE_LIMITED', rate };
      if (valkeyResult.outcome === 'dry') missing = 'money';
      else if (valkeyResult.outcome === 'budget dry') missing = valkeyResult.budget;
      // Unless another request has already found that out and got a new one.
      else if (held.current()?.lease.epoch === holding.lease.epoch) held.drop();
    } else if (rate === null) {
      // The ledger is not for those who are over their limits.
      rate = await peek(request);
      if (!rate.allowed) return { refused: 'RATE_LIMITED', rate };
    }
    const ledgerResult = await held.requestMore(leaseNeedOf(request, valkeyResult));
    const refused = errorReasonIn(ledgerResult, request);
    const isSmallerEnough = least > request.least && isEnough(valkeyResult, request.least);
    if (refused !== null && (refused === 'ACCOUNT_FROZEN' || !isSmallerEnough)) {
      const funds = insufficientFundsOf(request, refused, valkeyResult, ledgerResult);
      const late = funds?.isReserved === true ? await reserveAfterSettlements(held, request, clock) : null;
      return late ?? refuseReservation(request, refused, { counter, rate, funds });
    }
    // A question that others had asked before says nothing about what this one would like.
    if (ledgerResult.own || nth + 2 >= maxTries) ({ least } = request);
  }
  return refuseReservation(request, toAdmissionErrorReason(null), { counter, rate, funds: null });
}

/**
 * What has no money, and was refused it by the ledger, counts as a request: or whoever has none could ask the ledger
 * without end. That the ledger was away is nobody's fault but ours.
 */
async function refuseReservation(
  request: CheckedReserveRequest,
  refused: ReserveRejection['refused'],
  {
    counter,
    rate,
    funds,
  }: { counter: LimitCounter; rate: RateDecision | null; funds: InsufficientFunds | null },
): Promise<ReserveRejection> {
  const why = funds === null ? {} : { funds };
  if (refused !== 'LEDGER_UNAVAILABLE') return { refused, ...why, rate: await counter.count(request) };
  return { refused, rate: rate ?? uncountedDecision(request.set.limits) };
}
