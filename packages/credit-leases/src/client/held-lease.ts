import type { Timer } from '@millrace/platform/clock';
import type { BudgetId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { EpochTracker } from './epoch-tracker.ts';
import type { EpochEnd, LeaseReply, LeaseRequest } from '../protocol/lease-messages.ts';
import { ValkeyLeases, type LeaseOwner } from '../protocol/valkey-leases.ts';
import { WaitingTotals, type WaitingRequest } from './waiting-requests.ts';

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

export interface ActiveLease {
  readonly lease: Extract<LeaseReply, { outcome: 'leased' }>;
  readonly leases: ValkeyLeases;
}

export type LeaseNeed = Pick<LeaseRequest, 'shortage' | 'budgets'>;

const nothingMore: LeaseNeed = { shortage: 0n, budgets: [] };

export interface LeaseRequestResult {
  /** Null: there was none. */
  readonly reply: LeaseReply | null;
  /** What was asked for was more than this one needs: a refusal of that says nothing about less. */
  readonly requestedMore: boolean;
  /** The question was asked for this one, and not before it for others. */
  readonly own: boolean;
}

/** A pot that cannot be filled above its low-water mark, or to all that a request would like, is not asked for each time. */
const requestIntervalMs = 1_000;
/** A lease without requests for so long is given back: until then its hold keeps the money from everything else. */
const idleReturnMs = 60_000;
/** Budgets that are remembered as dry; more of them are simply asked for again. */
const maxShortages = 100;

/** The lease of one pot, as one gateway holds it. */
export class HeldLease {
  readonly epochs: EpochTracker;
  readonly #options: HeldLeaseOptions;
  readonly #owner: LeaseOwner;
  readonly #clock: Timer;
  readonly #waiting = new WaitingTotals();
  readonly #poorUntilMs = new Map<BudgetId | 'money', number>();
  #held: ActiveLease | null = null;
  #seen: LeaseRequest['seen'] = null;
  #pending: { readonly shortage: bigint; readonly reply: Promise<LeaseReply | null> } | null = null;
  #admitUntilMs = 0;
  #prolongAtMs = 0;
  #aheadAtMs = 0;
  #idleSinceMs: number;
  #used = false;
  #closed = false;

  constructor(options: HeldLeaseOptions, owner: LeaseOwner, nextId: () => string) {
    const { clock, log, cell, publishEnd } = options;
    this.#options = options;
    this.#owner = owner;
    this.#clock = clock;
    this.#idleSinceMs = clock.monotonicMs();
    this.epochs = new EpochTracker({
      nextId,
      publish: (gatewayId, throughEpoch) => publishEnd({ ...owner, cell, gatewayId, throughEpoch }),
      log,
    });
  }

  /** What can be spent from now; null when there is none, or its time is over by the gateway's own clock. */
  current(): ActiveLease | null {
    if (this.#held !== null && this.#clock.monotonicMs() >= this.#admitUntilMs) this.drop();
    return this.#held;
  }

  /** Asks the ledger, one question at a time: who comes meanwhile waits for the same answer. */
  async requestMore(need: LeaseNeed): Promise<LeaseRequestResult> {
    if (this.#closed && this.#pending === null) return { reply: null, requestedMore: false, own: true };
    const own = this.#pending === null;
    this.#pending ??= {
      shortage: need.shortage,
      reply: this.#requestOnce(need).finally(() => (this.#pending = null)),
    };
    const requestedMore = this.#pending.shortage > need.shortage;
    return { reply: await this.#pending.reply, requestedMore, own };
  }

  /** A request got less than it would have liked although the ledger was asked, for want of money or of a budget. */
  notePoor(missing: BudgetId | 'money'): void {
    if (this.#poorUntilMs.size >= maxShortages) this.#poorUntilMs.clear();
    this.#poorUntilMs.set(missing, this.#clock.monotonicMs() + requestIntervalMs);
  }

  /** That was a moment ago, so asking again would help nobody. */
  isPoor(budgets: readonly BudgetId[]): boolean {
    if (this.#poorUntilMs.size === 0) return false;
    const nowMs = this.#clock.monotonicMs();
    const isNow = (missing: BudgetId | 'money'): boolean => nowMs < (this.#poorUntilMs.get(missing) ?? nowMs);
    return isNow('money') || budgets.some(isNow);
  }

  /** Asks for more in the background when little is left. */
  refillAhead(): void {
    this.#used = true;
    const nowMs = this.#clock.monotonicMs();
    const isLow =
      this.#held !== null && this.#seen !== null && this.#seen.remaining < this.#held.lease.lowWater;
    if (!isLow || nowMs < this.#aheadAtMs) return;
    this.#aheadAtMs = nowMs + requestIntervalMs;
    void this.requestMore(nothingMore);
  }

  /** Stops using the lease. Its requests under way are still settled, and then its end is reported. */
  drop(): void {
    if (this.#held !== null) this.epochs.end(this.#held.lease.epoch);
    this.#held = null;
    this.#seen = null;
  }

  /** What Valkey said of the pot. */
  recordState(state: NonNullable<LeaseRequest['seen']>): void {
    if (this.#held?.lease.epoch === state.epoch) this.#seen = state;
  }

  /** Counts a request among those that wait for money and budgets, until it stops waiting. */
  wait(request: WaitingRequest): void {
    this.#restartIdleTime();
    this.#waiting.add(request);
  }

  stopWaiting(request: WaitingRequest): void {
    this.#waiting.remove(request);
  }

  /** Prolongs the lease if it is used, gives it back when it was idle for a minute, and reports ends. */
  async maintain(): Promise<void> {
    // A request that waits has not entered an epoch yet, and may still spend from the lease.
    if (this.#pending !== null || this.#waiting.count > 0 || this.epochs.inFlight > 0)
      this.#restartIdleTime();
    if (this.#held !== null && (await this.#mayReturn())) this.drop();
    // Also after the lease was lost: who still has requests under way must not be taken for dead.
    const isBusy = this.#used || this.epochs.inFlight > 0;
    if (isBusy && this.#clock.monotonicMs() >= this.#prolongAtMs) await this.requestMore(nothingMore);
    this.current();
    await this.epochs.report();
  }

  /** Nothing is left of it here: no lease, no question, no request and nothing to report. */
  isDone(): boolean {
    const isUnused = this.#held === null && this.#pending === null && this.#waiting.count === 0;
    return isUnused && this.epochs.isDone();
  }

  async close(): Promise<void> {
    this.#closed = true;
    // An answer under way may bring a lease, whose end must be reported too.
    await this.#pending?.reply;
    this.drop();
    await this.epochs.idle();
    await this.epochs.report();
  }

  #accept(reply: LeaseReply, sentMs: number): LeaseReply {
    if (this.#held !== null && this.#held.lease.epoch <= reply.endThrough) this.drop();
    this.epochs.end(reply.endThrough);
    // What it speaks of has ended here, and can be used again only by someone else.
    const ended = reply.outcome === 'leased' && !this.epochs.begin(reply.epoch);
    if (ended || (reply.outcome === 'refused' && reply.reason === 'dead')) {
      this.drop();
      this.epochs.renewHolderId();
      return { outcome: 'refused', reason: 'dead', endThrough: 0n };
    }
    if (reply.outcome === 'refused') return reply;
    if (this.#held?.lease.epoch === reply.epoch) this.#held = { ...this.#held, lease: reply };
    else {
      this.#held = { lease: reply, leases: new ValkeyLeases(this.#options.valkey, reply.server) };
      this.#seen = { epoch: reply.epoch, granted: 0n, remaining: 0n };
    }
    // From when the question was sent: the lease was prolonged later than that.
    this.#admitUntilMs = sentMs + reply.admitForMs;
    this.#prolongAtMs = sentMs + Math.trunc(reply.admitForMs * 0.5);
    this.#used = false;
    return reply;
  }

  async #requestOnce(need: LeaseNeed): Promise<LeaseReply | null> {
    const { cell, log, requestLease } = this.#options;
    const sentMs = this.#clock.monotonicMs();
    const { gatewayId } = this.epochs;
    try {
      // For all that wait: one question after the other for each of them would have most give up.
      const budgets = need.budgets.map((budget) => {
        const ofAll = this.#waiting.wantedOf(budget.id);
        return ofAll > budget.wanted ? { ...budget, wanted: ofAll } : budget;
      });
      const { wanted } = this.#waiting;
      const sent = { ...this.#owner, ...need, budgets, cell, gatewayId, seen: this.#seen, wanted };
      return this.#accept(await requestLease(sent), sentMs);
    } catch (error) {
      log.warn({ err: error, orgId: this.#owner.orgId }, 'no lease could be had');
      return null;
    }
  }

  #restartIdleTime(): void {
    this.#idleSinceMs = this.#clock.monotonicMs();
  }

  /** Whether to give the lease back now. Asks the ledger first: while it does not answer, the lease could not be borrowed again. */
  async #mayReturn(): Promise<boolean> {
    const isOver = (): boolean => this.#clock.monotonicMs() - this.#idleSinceMs >= idleReturnMs;
    if (!isOver()) return false;
    const { reply } = await this.requestMore(nothingMore);
    if (reply === null || (reply.outcome === 'refused' && reply.reason === 'busy')) this.#restartIdleTime();
    // A request may have come while the ledger was asked.
    return isOver();
  }
}
