import type { Timer } from '@millrace/platform/clock';
import type { BudgetId } from '@millrace/platform/ids';
import { toDecision, uncountedDecision, type RateDecision } from '@millrace/platform/limiter';
import type { LeaseRequestResult, HeldLease, ActiveLease, LeaseNeed } from './held-lease.ts';
import { toAdmissionErrorReason } from './rejection-reasons.ts';
import { maxPerLease } from '../protocol/lease-scripts.ts';
import type { ReserveResult } from '../protocol/valkey-leases.ts';
import type { InsufficientFunds, ReserveRejection, Reservation, ReserveRequest } from './client-types.ts';
import { costsFor, limitSetOf, type LimitSet } from '../protocol/request-limits.ts';

/** Reserves from the lease in Valkey, and asks the lender for more where the lease is too small. */

/** A request may find the lease too small repeatedly, because other requests reserved the new credit first. */
const maxTries = 8;

export interface CheckedReserveRequest extends ReserveRequest {
  readonly least: bigint;
  readonly set: LimitSet;
  readonly costs: readonly number[];
}

/** The lease request that follows from Valkey's result. */
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

/** A negative amount would enlarge a lease, and an amount too large for Lua would abort a script half way. */
export function requireAmount(amount: bigint, most: bigint): void {
  if (amount < 0n || amount > most) throw new RangeError(`Invalid amount of a request: ${amount} nano-USD`);
}

export function checkReserveRequest(request: ReserveRequest): CheckedReserveRequest {
  const { least = request.amount } = request;
  requireAmount(request.amount, 2n ** 63n - 1n);
  requireAmount(least, request.amount);
  const set = limitSetOf(request.orgId, request.limits);
  // No lease holds more, so a request that can be reduced asks for at most that.
  const amount = request.amount > maxPerLease && least < request.amount ? maxPerLease : request.amount;
  return { ...request, amount, least, set, costs: costsFor(set, request.tokens) };
}

/** Valkey's decision on the rate limits, if it checked them. */
function rateOf({ set, costs }: CheckedReserveRequest, result: ReserveResult | null): RateDecision {
  if (result === null || result.used === null) return uncountedDecision(set.limits);
  return toDecision(result.outcome !== 'limited', set.limits, costs, result.used);
}

/** Whether the remaining credit is enough for a request that can be reduced. */
function isEnough(result: ReserveResult | null, least: bigint): boolean {
  return (result?.outcome === 'dry' || result?.outcome === 'budget dry') && result.remaining >= least;
}

export interface LimitCounter {
  readonly clock: Timer;
  /** Reads the limits, for a request without a lease. */
  readonly peek: (request: CheckedReserveRequest) => Promise<RateDecision>;
  /** Counts a rejected request. */
  readonly count: (request: CheckedReserveRequest) => Promise<RateDecision>;
}

/** Tries to reserve once. A request without a confirmed admission leaves the epoch again. */
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
  // Before the call: an end must not be reported while an admission may be in progress.
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
    // The script may have run. The request uses nothing; a reservation that cannot be settled now stays until the epoch ends.
    const requests = [{ requestId, actual: 0n }];
    void leases.settle(request, { epoch, gatewayId, requests, back: [] }).catch(() => undefined);
    throw error;
  } finally {
    if (!isAdmitted) held.epochs.leave(epoch, requestId);
  }
}

/** Why the request is rejected after the lender's reply; null to try again. */
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

/** The missing amount, from the last replies of Valkey and the lender. */
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
    // The next period does not help a request that costs more than a whole period allows.
    resetsInMs: exceeded !== undefined && exceeded.limit >= request.least ? exceeded.resetsInMs : null,
  };
}

/** How often a request waits for the settlement of ended requests. */
const maxWaits = 3;

/** Retries after ended requests have returned their unused credit. */
async function reserveAfterSettlements(
  held: HeldLease,
  request: CheckedReserveRequest,
  clock: Timer,
): Promise<Reservation | null> {
  for (let waits = 0; waits < maxWaits && (await request.nextSettled?.()) === true; waits += 1) {
    // The ledger may have the missing rest, so it is asked once before the second attempt.
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

/** Returns the reservation or the rejection. Rejects if Valkey cannot be reached. */
export async function reserveFromLease(
  held: HeldLease,
  request: CheckedReserveRequest,
  counter: LimitCounter,
): Promise<Reservation | ReserveRejection> {
  const { clock, peek } = counter;
  // Try the full amount first: the ledger is asked before a request is reduced.
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
      // Unless another request has already detected that and got a new lease.
      else if (held.current()?.lease.epoch === holding.lease.epoch) held.drop();
    } else if (rate === null) {
      // Requests above their rate limits must not reach the ledger.
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
    // A reply to another request says nothing about the full amount of this one.
    if (ledgerResult.own || nth + 2 >= maxTries) ({ least } = request);
  }
  return refuseReservation(request, toAdmissionErrorReason(null), { counter, rate, funds: null });
}

/**
 * A request that the ledger rejected counts against the rate limits, which bounds the calls to the ledger. A request that failed
 * because the ledger was unreachable does not count.
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
