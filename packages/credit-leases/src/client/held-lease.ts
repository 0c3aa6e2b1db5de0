import type { Timer } from '@millrace/platform/clock';
import type { BudgetId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { createEpochTracker, type EpochTracker } from './epoch-tracker.ts';
import type { EpochEnd, LeaseReply, LeaseRequest } from '../protocol/lease-messages.ts';
import { createValkeyLeases, type LeaseOwner, type ValkeyLeases } from '../protocol/valkey-leases.ts';
import { createWaitingTotals, type WaitingRequest } from './waiting-requests.ts';

export interface HeldLeaseOptions {
  readonly valkey: Pick<ValkeyClient, 'run' | 'runLoaded' | 'command'>;
  /** Asks the keeper of the ledger; rejects when there is no answer in time. */
  readonly requestLease: (request: LeaseRequest) => Promise<LeaseReply>;
  /** Puts the marker into the usage stream and resolves when it is stored there. */
  readonly publishEnd: (end: EpochEnd) => Promise<void>;
  readonly cell: number;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn'>;
}

type LeaseGranted = Extract<LeaseReply, { outcome: 'leased' }>;

export interface ActiveLease {
  readonly lease: LeaseGranted;
  readonly leases: ValkeyLeases;
}

export type LeaseNeed = Pick<LeaseRequest, 'shortage' | 'budgets'>;

export interface LeaseRequestResult {
  /** Null: there was none. */
  readonly reply: LeaseReply | null;
  /** What was asked for was more than this one needs: a refusal of that says nothing about less. */
  readonly requestedMore: boolean;
  /** The question was asked for this one, and not before it for others. */
  readonly own: boolean;
}

/** The lease of one pot, as one gateway holds it. */
export interface HeldLease {
  readonly epochs: EpochTracker;
  /** What can be spent from now; null when there is none, or its time is over by the gateway's own clock. */
  current(): ActiveLease | null;
  /** Asks the ledger, one question at a time: who comes meanwhile waits for the same answer. */
  requestMore(need: LeaseNeed): Promise<LeaseRequestResult>;
  /** A request got less than it would have liked although the ledger was asked, for want of money or of a budget. */
  notePoor(missing: BudgetId | 'money'): void;
  /** That was a moment ago, so asking again would help nobody. */
  isPoor(budgets: readonly BudgetId[]): boolean;
  /** Asks for more in the background when little is left. */
  refillAhead(): void;
  /** Stops using the lease. Its requests under way are still settled, and then its end is reported. */
  drop(): void;
  /** What Valkey said of the pot. */
  recordState(seen: NonNullable<LeaseRequest['seen']>): void;
  /** Counts a request among those that wait for money and budgets, until it stops waiting. */
  wait(request: WaitingRequest): void;
  stopWaiting(request: WaitingRequest): void;
  /** Prolongs the lease if it is used, gives it back when it was idle for a minute, and reports ends. */
  maintain(): Promise<void>;
  /** Nothing is left of it here: no lease, no question, no request and nothing to report. */
  isDone(): boolean;
  close(): Promise<void>;
}

/** A pot that cannot be filled above its low-water mark, or to all that a request would like, is not asked for each time. */
const requestIntervalMs = 1_000;
/** A lease without requests for so long is given back: until then its hold keeps the money from everything else. */
const idleReturnMs = 60_000;
/** Budgets that are remembered as dry; more of them are simply asked for again. */
const maxShortages = 100;

function createShortageMemory(clock: Pick<Timer, 'monotonicMs'>): Pick<HeldLease, 'notePoor' | 'isPoor'> {
  const untilMs = new Map<BudgetId | 'money', number>();
  return {
    notePoor(missing) {
      if (untilMs.size >= maxShortages) untilMs.clear();
      untilMs.set(missing, clock.monotonicMs() + requestIntervalMs);
    },
    isPoor(budgets) {
      if (untilMs.size === 0) return false;
      const nowMs = clock.monotonicMs();
      const isNow = (missing: BudgetId | 'money'): boolean => nowMs < (untilMs.get(missing) ?? nowMs);
      return isNow('money') || budgets.some(isNow);
    },
  };
}

/** How long a lease has had no request. */
interface IdleTimer {
  end(): void;
  /** Whether to give the lease back now. Asks the ledger first: while it does not answer, the lease could not be borrowed again. */
  mayReturn(requestMore: HeldLease['requestMore']): Promise<boolean>;
}

function createIdleTimer(clock: Pick<Timer, 'monotonicMs'>): IdleTimer {
  let sinceMs = clock.monotonicMs();
  const isOver = (): boolean => clock.monotonicMs() - sinceMs >= idleReturnMs;
  const end = (): void => void (sinceMs = clock.monotonicMs());
  return {
    end,
    async mayReturn(requestMore) {
      if (!isOver()) return false;
      const { reply } = await requestMore({ shortage: 0n, budgets: [] });
      const isAway = reply === null || (reply.outcome === 'refused' && reply.reason === 'busy');
      if (isAway) end();
      // A request may have come while the ledger was asked.
      return isOver();
    },
  };
}

export function createHeldLease(
  options: HeldLeaseOptions,
  name: LeaseOwner,
  nextId: () => string,
): HeldLease {
  const { clock, log, cell } = options;
  let held: ActiveLease | null = null;
  let seen: LeaseRequest['seen'] = null;
  let pending: { readonly shortage: bigint; readonly reply: Promise<LeaseReply | null> } | null = null;
  const waiting = createWaitingTotals();
  let admitUntilMs = 0;
  let prolongAtMs = 0;
  const idleness = createIdleTimer(clock);
  let aheadAtMs = 0;
  let used = false;
  let closed = false;
  const epochs = createEpochTracker({
    nextId,
    publish: (gatewayId, throughEpoch) => options.publishEnd({ ...name, cell, gatewayId, throughEpoch }),
    log,
  });

  function drop(): void {
    if (held !== null) epochs.end(held.lease.epoch);
    held = null;
    seen = null;
  }

  function accept(reply: LeaseReply, sentMs: number): LeaseReply {
    if (held !== null && held.lease.epoch <= reply.endThrough) drop();
    epochs.end(reply.endThrough);
    // What it speaks of has ended here, and can be used again only by someone else.
    const ended = reply.outcome === 'leased' && !epochs.begin(reply.epoch);
    if (ended || (reply.outcome === 'refused' && reply.reason === 'dead')) {
      drop();
      epochs.renewHolderId();
      return { outcome: 'refused', reason: 'dead', endThrough: 0n };
    }
    if (reply.outcome === 'refused') return reply;
    if (held?.lease.epoch === reply.epoch) held = { ...held, lease: reply };
    else {
      held = { lease: reply, leases: createValkeyLeases({ valkey: options.valkey, server: reply.server }) };
      seen = { epoch: reply.epoch, granted: 0n, remaining: 0n };
    }
    // From when the question was sent: the lease was prolonged later than that.
    admitUntilMs = sentMs + reply.admitForMs;
    prolongAtMs = sentMs + Math.trunc(reply.admitForMs * 0.5);
    used = false;
    return reply;
  }

  async function requestOnce(need: LeaseNeed): Promise<LeaseReply | null> {
    const sentMs = clock.monotonicMs();
    const gatewayId = epochs.gatewayId();
    try {
      // For all that wait: one question after the other for each of them would have most give up.
      const budgets = need.budgets.map((budget) => {
        const ofAll = waiting.wantedOf(budget.id);
        return ofAll > budget.wanted ? { ...budget, wanted: ofAll } : budget;
      });
      const reply = await options.requestLease({
        ...name,
        ...need,
        budgets,
        cell,
        gatewayId,
        seen,
        wanted: waiting.wanted(),
      });
      return accept(reply, sentMs);
    } catch (error) {
      log.warn({ err: error, orgId: name.orgId }, 'no lease could be had');
      return null;
    }
  }

  async function requestMore(need: LeaseNeed): Promise<LeaseRequestResult> {
    if (closed && pending === null) return { reply: null, requestedMore: false, own: true };
    const own = pending === null;
    pending ??= { shortage: need.shortage, reply: requestOnce(need).finally(() => (pending = null)) };
    const requestedMore = pending.shortage > need.shortage;
    return { reply: await pending.reply, requestedMore, own };
  }

  function current(): ActiveLease | null {
    if (held !== null && clock.monotonicMs() >= admitUntilMs) drop();
    return held;
  }

  return {
    epochs,
    current,
    requestMore,
    ...createShortageMemory(clock),
    refillAhead() {
      used = true;
      const nowMs = clock.monotonicMs();
      const low = held !== null && seen !== null && seen.remaining < held.lease.lowWater;
      if (!low || nowMs < aheadAtMs) return;
      aheadAtMs = nowMs + requestIntervalMs;
      void requestMore({ shortage: 0n, budgets: [] });
    },
    drop,
    recordState(state) {
      if (held?.lease.epoch === state.epoch) seen = state;
    },
    wait(request) {
      idleness.end();
      waiting.add(request);
    },
    stopWaiting: waiting.remove,
    async maintain() {
      // A request that waits has not entered an epoch yet, and may still spend from the lease.
      if (pending !== null || waiting.count() > 0 || epochs.inFlight() > 0) idleness.end();
      if (held !== null && (await idleness.mayReturn(requestMore))) drop();
      // Also after the lease was lost: who still has requests under way must not be taken for dead.
      const busy = used || epochs.inFlight() > 0;
      if (busy && clock.monotonicMs() >= prolongAtMs) await requestMore({ shortage: 0n, budgets: [] });
      current();
      await epochs.report();
    },
    isDone: () => held === null && pending === null && waiting.count() === 0 && epochs.isDone(),
    async close() {
      closed = true;
      // An answer under way may bring a lease, whose end must be reported too.
      await pending?.reply;
      drop();
      await epochs.idle();
      await epochs.report();
    },
  };
}
