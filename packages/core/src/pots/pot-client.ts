import type { Clock } from '@millrace/platform/clock';
import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, LeaseId, OrgId, RequestId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { createEpochs, type Epochs } from './epochs.ts';
import type { EpochEnd, LeaseReply, LeaseRequest } from './messages.ts';
import { mostPerLease, turnAway, type TurnedAway } from './pot.ts';
import { potsOn, type PotName, type PotValkey, type Reserved } from './pot-valkey.ts';

/** What a gateway spends from. One for each process; it needs Valkey for each request and the ledger only now and then. */
export interface PotClient {
  /** Sets the worst case of a request aside, or says why it cannot. */
  reserve(ask: ReserveAsk): Promise<Reservation | { readonly refused: TurnedAway }>;
  /**
   * Gives the rest back. To be called once the usage event of the request is acknowledged by the stream, also when
   * nothing was used: until then the epoch of the request counts as in use here.
   */
  settle(reservation: Reservation, actual: bigint): Promise<void>;
  /** Prolongs what is used and ends what is not. To be called again and again, more often than leases last. */
  tend(): Promise<void>;
  /** Ends all epochs, once their last requests are settled. */
  close(): Promise<void>;
}

export interface ReserveAsk {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly requestId: RequestId;
  readonly amount: bigint;
  readonly budgets: readonly BudgetId[];
}

/** What the usage event has to carry, besides the usage. */
export interface Reservation extends ReserveAsk {
  readonly leaseId: LeaseId;
  readonly epoch: bigint;
  readonly gatewayId: string;
}

export interface PotClientOptions {
  readonly valkey: Pick<ValkeyClient, 'runLoaded' | 'command'>;
  /** Asks the keeper of the ledger; rejects when there is no answer in time. */
  readonly requestLease: (request: LeaseRequest) => Promise<LeaseReply>;
  /** Puts the marker into the usage stream and resolves when it is stored there. */
  readonly publishEnd: (end: EpochEnd) => Promise<void>;
  readonly cell: number;
  /** Of this run of this process, and never used again: a host's name and something random. */
  readonly gatewayId: string;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
}

type Leased = Extract<LeaseReply, { outcome: 'leased' }>;

interface PotState {
  readonly name: PotName;
  readonly epochs: Epochs;
  lease: Leased | null;
  pots: PotValkey | null;
  admitUntilMs: number;
  /** When half of the admission time is over. */
  prolongAtMs: number;
  usedSinceProlonged: boolean;
  seen: { epoch: bigint; granted: bigint; remaining: bigint } | null;
  asking: Promise<LeaseReply | null> | null;
  /** What all requests that wait for the answer need together. */
  waiting: bigint;
  notAheadBeforeMs: number;
}

const mostTries = 8;
/** A pot that cannot be filled above its low-water mark is not asked for with each request. */
const betweenAheadMs = 1_000;

export function createPotClient(options: PotClientOptions): PotClient {
  const { clock, log, cell } = options;
  const states = new Map<string, PotState>();
  let lives = 0;
  let closed = false;

  function stateOf({ orgId, mode }: PotName): PotState {
    const key = `${orgId} ${mode}`;
    const found = states.get(key);
    if (found !== undefined) return found;
    const name = { orgId, mode };
    const made: PotState = {
      name,
      epochs: createEpochs({
        nextId: () => `${options.gatewayId}.${(lives += 1)}`,
        publish: (gatewayId, throughEpoch) => options.publishEnd({ ...name, cell, gatewayId, throughEpoch }),
        log,
      }),
      lease: null,
      pots: null,
      admitUntilMs: 0,
      prolongAtMs: 0,
      usedSinceProlonged: false,
      seen: null,
      asking: null,
      waiting: 0n,
      notAheadBeforeMs: 0,
    };
    states.set(key, made);
    return made;
  }

  function accept(state: PotState, reply: LeaseReply, sentMs: number): LeaseReply {
    if (state.lease !== null && state.lease.epoch <= reply.endThrough) drop(state);
    state.epochs.end(reply.endThrough);
    // What it speaks of has ended here, and can be used again only by someone else.
    const ended = reply.outcome === 'leased' && !state.epochs.begin(reply.epoch);
    if (ended || (reply.outcome === 'refused' && reply.reason === 'dead')) {
      drop(state);
      state.epochs.beginLife();
      return { outcome: 'refused', reason: 'dead', endThrough: 0n };
    }
    if (reply.outcome === 'refused') return reply;
    if (state.lease?.epoch !== reply.epoch) {
      state.pots = potsOn({ valkey: options.valkey, server: reply.server });
      state.seen = { epoch: reply.epoch, granted: 0n, remaining: 0n };
    }
    state.lease = reply;
    state.admitUntilMs = sentMs + reply.admitForMs;
    state.prolongAtMs = sentMs + Math.trunc(reply.admitForMs * 0.5);
    state.usedSinceProlonged = false;
    return reply;
  }

  /** One request for each pot at a time: who comes meanwhile waits for the same answer. Null: the ledger is away. */
  function ask(
    state: PotState,
    need: Pick<LeaseRequest, 'shortage' | 'budgets'>,
  ): Promise<LeaseReply | null> {
    if (state.asking !== null) return state.asking;
    if (closed) return Promise.resolve(null);
    const sentMs = clock.monotonicMs();
    const request: LeaseRequest = {
      ...state.name,
      ...need,
      cell,
      gatewayId: state.epochs.gatewayId(),
      seen: state.seen,
      wanted: state.waiting,
    };
    state.asking = options
      .requestLease(request)
      .then((reply) => accept(state, reply, sentMs))
      .catch((error: unknown) => {
        log.warn({ err: error, orgId: state.name.orgId }, 'no lease could be had');
        return null;
      })
      .finally(() => (state.asking = null));
    return state.asking;
  }

  /** Drops a lease that cannot be used any more. Its requests in flight are still settled and reported. */
  function drop(state: PotState): void {
    if (state.lease !== null) state.epochs.end(state.lease.epoch);
    state.lease = null;
    state.pots = null;
    state.seen = null;
  }

  function isUsable(state: PotState): boolean {
    return state.lease !== null && clock.monotonicMs() < state.admitUntilMs;
  }

  async function tryReserve(state: PotState, request: ReserveAsk): Promise<Reserved | Reservation | null> {
    const { lease, pots } = state;
    if (lease === null || pots === null) return null;
    const gatewayId = state.epochs.gatewayId();
    // Counted before Valkey is asked: an end must not be reported while an admission may be under way.
    const done = state.epochs.enter(lease.epoch, request.requestId);
    let admitted = false;
    try {
      const { epoch, leaseId } = lease;
      const answer = await pots.reserve(state.name, { ...request, epoch, gatewayId });
      if ('granted' in answer && answer.outcome !== 'budget dry') {
        state.seen = { epoch, granted: answer.granted, remaining: answer.remaining };
      }
      if (answer.outcome !== 'admitted') return answer;
      admitted = true;
      return { ...request, leaseId, epoch, gatewayId };
    } catch (error) {
      // It may have run. Nothing will be used of it, so it is given back as soon as Valkey answers again.
      void giveBack(pots, state.name, { epoch: lease.epoch, gatewayId, requestId: request.requestId });
      throw error;
    } finally {
      if (!admitted) done();
    }
  }

  function giveBack(
    pots: PotValkey,
    name: PotName,
    end: { readonly epoch: bigint; readonly gatewayId: string; readonly requestId: RequestId },
  ): Promise<void> {
    return pots.settle(name, { ...end, actual: 0n }).then(
      () => undefined,
      (error: unknown) => log.warn({ err: error }, 'a reservation stays until its epoch ends'),
    );
  }

  /** What to ask the ledger for, given what Valkey said. */
  function needOf(request: ReserveAsk, said: Reserved | null): Pick<LeaseRequest, 'shortage' | 'budgets'> {
    const short = (remaining: bigint): bigint => {
      const missing = request.amount - remaining;
      return missing > 0n ? missing : 0n;
    };
    if (said === null || said.outcome === 'gone' || said.outcome === 'foreign') {
      const budgets = request.budgets.map((id) => ({ id, granted: 0n, shortage: request.amount }));
      return { shortage: request.amount, budgets };
    }
    if (said.outcome === 'dry') return { shortage: short(said.remaining), budgets: [] };
    if (said.outcome !== 'budget dry') return { shortage: 0n, budgets: [] };
    const budget = { id: said.budget, granted: said.granted, shortage: short(said.remaining) };
    return { shortage: 0n, budgets: [budget] };
  }

  function askAhead(state: PotState): void {
    const { lease, seen } = state;
    if (lease === null || seen === null || seen.remaining >= lease.lowWater) return;
    const nowMs = clock.monotonicMs();
    if (nowMs < state.notAheadBeforeMs) return;
    state.notAheadBeforeMs = nowMs + betweenAheadMs;
    void ask(state, { shortage: 0n, budgets: [] });
  }

  async function tendOne(key: string, state: PotState): Promise<void> {
    const busy = state.usedSinceProlonged || state.epochs.inFlight() > 0;
    // Also after the lease was lost: who still has requests under way must not be taken for dead.
    if (busy && clock.monotonicMs() >= state.prolongAtMs) await ask(state, { shortage: 0n, budgets: [] });
    if (state.lease !== null && !isUsable(state)) drop(state);
    await state.epochs.report();
    const idle = state.lease === null && state.asking === null && state.waiting === 0n;
    if (idle && state.epochs.isDone()) states.delete(key);
  }

  /** One try: the reservation, or what to answer, or null to try again. */
  async function attempt(
    state: PotState,
    request: ReserveAsk,
  ): Promise<Reservation | { readonly refused: TurnedAway } | null> {
    if (state.lease !== null && !isUsable(state)) drop(state);
    let said: Reserved | null = null;
    try {
      const got = await tryReserve(state, request);
      if (got !== null && 'leaseId' in got) return got;
      said = got;
    } catch (error) {
      log.warn({ err: error }, 'the pot Valkey could not be asked');
      return { refused: 'LEDGER_UNAVAILABLE' };
    }
    if (said !== null && ['gone', 'foreign', 'closed', 'expired'].includes(said.outcome)) drop(state);
    const reply = await ask(state, needOf(request, said));
    if (reply === null) return { refused: 'LEDGER_UNAVAILABLE' };
    if (reply.outcome === 'refused')
      return reply.reason === 'dead' ? null : { refused: turnAway(reply.reason) };
    const exceeded = reply.exceeded.some((id) => request.budgets.includes(id));
    return exceeded ? { refused: 'BUDGET_EXCEEDED' } : null;
  }

  return {
    async reserve(request) {
      if (request.amount > mostPerLease) return { refused: 'INSUFFICIENT_BALANCE' };
      const state = stateOf(request);
      state.waiting += request.amount;
      try {
        for (let nth = 0; nth < mostTries; nth += 1) {
          const got = await attempt(state, request);
          if (got === null) continue;
          if ('leaseId' in got) {
            state.usedSinceProlonged = true;
            askAhead(state);
          }
          return got;
        }
        return { refused: 'LEDGER_UNAVAILABLE' };
      } finally {
        state.waiting -= request.amount;
      }
    },

    async settle(reservation, actual) {
      const state = stateOf(reservation);
      const { epoch, gatewayId, requestId } = reservation;
      const pots = state.lease?.epoch === epoch ? state.pots : null;
      try {
        const answer = await pots?.settle(state.name, { epoch, gatewayId, requestId, actual });
        if (answer?.outcome === 'settled') {
          state.seen = { epoch, granted: answer.granted, remaining: answer.remaining };
        }
      } catch (error) {
        log.warn({ err: error }, 'a reservation stays until its epoch ends');
      } finally {
        state.epochs.leave(epoch, requestId);
      }
    },

    async tend() {
      await Promise.all([...states].map(([key, state]) => tendOne(key, state)));
    },

    async close() {
      closed = true;
      for (const state of states.values()) {
        // An answer under way may bring a lease, whose end must be reported too.
        await state.asking;
        drop(state);
        await state.epochs.idle();
        await state.epochs.report();
      }
    },
  };
}
