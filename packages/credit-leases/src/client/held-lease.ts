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
  /** Sends a lease request to the lender; rejects if there is no reply in time. */
  readonly requestLease: (request: LeaseRequest) => Promise<LeaseReply>;
  /** Publishes the end marker and resolves when the usage stream has stored it. */
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
  /** Null if there was no reply. */
  readonly reply: LeaseReply | null;
  /** The lender was asked for more than this request needs, so its refusal does not apply to a smaller amount. */
  readonly requestedMore: boolean;
  /** Whether the lender was asked for this request and not earlier for another one. */
  readonly own: boolean;
}

/** A lease that cannot be filled to its low-water mark or to a request's full amount is not requested each time. */
const requestIntervalMs = 1_000;
/** An idle lease is returned after this time, because its hold keeps the money from all other uses. */
const idleReturnMs = 60_000;
/** How many budgets are remembered as too small; further ones are simply requested again. */
const maxShortages = 100;

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

  /** The lease to spend from now; null if there is none or it has expired by the gateway's clock. */
  current(): ActiveLease | null {
    if (this.#held !== null && this.#clock.monotonicMs() >= this.#admitUntilMs) this.drop();
    return this.#held;
  }

  /** Asks the lender, one request at a time: concurrent callers share the reply. */
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

  /** Records that a request got less than its full amount although the lender was asked. */
  notePoor(missing: BudgetId | 'money'): void {
    if (this.#poorUntilMs.size >= maxShortages) this.#poorUntilMs.clear();
    this.#poorUntilMs.set(missing, this.#clock.monotonicMs() + requestIntervalMs);
  }

  /** Whether such a shortage was recorded a moment ago, so that asking again is useless. */
  isPoor(budgets: readonly BudgetId[]): boolean {
    if (this.#poorUntilMs.size === 0) return false;
    const nowMs = this.#clock.monotonicMs();
    const isNow = (missing: BudgetId | 'money'): boolean => nowMs < (this.#poorUntilMs.get(missing) ?? nowMs);
    return isNow('money') || budgets.some(isNow);
  }

  /** Requests more in the background when the remaining credit is low. */
  refillAhead(): void {
    this.#used = true;
    const nowMs = this.#clock.monotonicMs();
    const isLow =
      this.#held !== null && this.#seen !== null && this.#seen.remaining < this.#held.lease.lowWater;
    if (!isLow || nowMs < this.#aheadAtMs) return;
    this.#aheadAtMs = nowMs + requestIntervalMs;
    void this.requestMore(nothingMore);
  }

  /** Stops using the lease. Requests in flight are still settled, and then its end is reported. */
  drop(): void {
    if (this.#held !== null) this.epochs.end(this.#held.lease.epoch);
    this.#held = null;
    this.#seen = null;
  }

  recordState(state: NonNullable<LeaseRequest['seen']>): void {
    if (this.#held?.lease.epoch === state.epoch) this.#seen = state;
  }

  /** Counts a request as waiting for money and budgets, until stopWaiting. */
  wait(request: WaitingRequest): void {
    this.#restartIdleTime();
    this.#waiting.add(request);
  }

  stopWaiting(request: WaitingRequest): void {
    this.#waiting.remove(request);
  }

  /** Renews the lease if it is used, returns it after a minute without requests, and reports ends. */
  async maintain(): Promise<void> {
    // A waiting request has not entered an epoch yet, and may still spend from the lease.
    if (this.#pending !== null || this.#waiting.count > 0 || this.epochs.inFlight > 0)
      this.#restartIdleTime();
    if (this.#held !== null && (await this.#mayReturn())) this.drop();
    // Also after the lease was lost: a gateway with requests in flight must not be declared dead.
    const isBusy = this.#used || this.epochs.inFlight > 0;
    if (isBusy && this.#clock.monotonicMs() >= this.#prolongAtMs) await this.requestMore(nothingMore);
    this.current();
    await this.epochs.report();
  }

  /** Whether no lease, lease request, inference request or unreported end remains. */
  isDone(): boolean {
    const isUnused = this.#held === null && this.#pending === null && this.#waiting.count === 0;
    return isUnused && this.epochs.isDone();
  }

  async close(): Promise<void> {
    this.#closed = true;
    // A pending reply may bring a lease, whose end must be reported too.
    await this.#pending?.reply;
    this.drop();
    await this.epochs.idle();
    await this.epochs.report();
  }

  #accept(reply: LeaseReply, sentMs: number): LeaseReply {
    if (this.#held !== null && this.#held.lease.epoch <= reply.endThrough) this.drop();
    this.epochs.end(reply.endThrough);
    // This epoch has ended in this run, so only a new holder id can use it.
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
    // Counted from the sending: the lender renewed the lease later than that.
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
      // Request for all waiting requests at once: asking for one after the other would let most of them time out.
      const budgets = need.budgets.map((budget) => {
        const ofAll = this.#waiting.wantedOf(budget.id);
        return ofAll > budget.wanted ? { ...budget, wanted: ofAll } : budget;
      });
      const { wanted } = this.#waiting;
      const sent = { ...this.#owner, ...need, budgets, cell, gatewayId, seen: this.#seen, wanted };
      return this.#accept(await requestLease(sent), sentMs);
    } catch (error) {
      log.warn({ err: error, orgId: this.#owner.orgId }, 'could not get a credit lease');
      return null;
    }
  }

  #restartIdleTime(): void {
    this.#idleSinceMs = this.#clock.monotonicMs();
  }

  /** Asks the lender first: if it does not respond, a returned lease could not be replaced. */
  async #mayReturn(): Promise<boolean> {
    const isOver = (): boolean => this.#clock.monotonicMs() - this.#idleSinceMs >= idleReturnMs;
    if (!isOver()) return false;
    const { reply } = await this.requestMore(nothingMore);
    if (reply === null || (reply.outcome === 'refused' && reply.reason === 'busy')) this.#restartIdleTime();
    // A request may have arrived during the call.
    return isOver();
  }
}
