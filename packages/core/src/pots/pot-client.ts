import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, LeaseId, OrgId, RequestId } from '@millrace/platform/ids';
import {
  createHeldLease,
  type HeldLease,
  type HeldLeaseOptions,
  type Holding,
  type Need,
} from './held-lease.ts';
import { mostPerLease, turnAway, type TurnedAway } from './pot.ts';
import type { PotName, Reserved } from './pot-valkey.ts';

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

export interface PotClientOptions extends HeldLeaseOptions {
  /** Of this run of this process, and never used again: a host's name and something random. */
  readonly gatewayId: string;
}

/** A request that finds a pot dry asks, and may find it dry again because others were quicker. */
const mostTries = 8;

/** What to ask the ledger for, given what Valkey said. */
function needOf(request: ReserveAsk, said: Reserved | null): Need {
  const short = (remaining: bigint): bigint => {
    const missing = request.amount - remaining;
    return missing > 0n ? missing : 0n;
  };
  if (said?.outcome === 'dry') return { shortage: short(said.remaining), budgets: [] };
  if (said?.outcome === 'budget dry') {
    const budget = { id: said.budget, granted: said.granted, shortage: short(said.remaining) };
    return { shortage: 0n, budgets: [budget] };
  }
  const budgets = request.budgets.map((id) => ({ id, granted: 0n, shortage: request.amount }));
  return { shortage: request.amount, budgets };
}

/** A negative amount would make a pot larger, and one that Valkey cannot count would end a script half way. */
function requireAmount(amount: bigint, most: bigint): void {
  if (amount < 0n || amount > most) throw new RangeError(`Not an amount of a request: ${amount} nano-USD.`);
}

export function createPotClient(options: PotClientOptions): PotClient {
  const { log } = options;
  const leases = new Map<string, HeldLease>();
  let lives = 0;

  const keyOf = ({ orgId, mode }: PotName): string => `${orgId} ${mode}`;

  function leaseOf(pot: PotName): HeldLease {
    const found = leases.get(keyOf(pot));
    if (found !== undefined) return found;
    const name = { orgId: pot.orgId, mode: pot.mode };
    const made = createHeldLease(options, name, () => `${options.gatewayId}.${(lives += 1)}`);
    leases.set(keyOf(pot), made);
    return made;
  }

  async function reserveFrom(
    { lease, pots }: Holding,
    held: HeldLease,
    request: ReserveAsk,
  ): Promise<Reserved | Reservation> {
    const { epoch, leaseId } = lease;
    const gatewayId = held.epochs.gatewayId();
    // Counted before Valkey is asked: an end must not be reported while an admission may be under way.
    const leave = held.epochs.enter(epoch, request.requestId);
    let admitted = false;
    try {
      const answer = await pots.reserve(request, { ...request, epoch, gatewayId });
      if (answer.outcome === 'admitted' || answer.outcome === 'dry') held.saw({ ...answer, epoch });
      if (answer.outcome !== 'admitted') return answer;
      admitted = true;
      return { ...request, leaseId, epoch, gatewayId };
    } catch (error) {
      // It may have run. Nothing will be used of it; what cannot be given back now stays until the epoch ends.
      void pots
        .settle(request, { epoch, gatewayId, requestId: request.requestId, actual: 0n })
        .catch(() => undefined);
      throw error;
    } finally {
      if (!admitted) leave();
    }
  }

  /** One try: the reservation, or what to answer, or null to try again. */
  async function attempt(
    held: HeldLease,
    request: ReserveAsk,
  ): Promise<Reservation | { readonly refused: TurnedAway } | null> {
    let said: Reserved | null = null;
    const holding = held.current();
    if (holding !== null) {
      const got = await reserveFrom(holding, held, request);
      if ('leaseId' in got) return got;
      said = got;
      // Unless another request has already found that out and got a new one.
      const lost = said.outcome !== 'dry' && said.outcome !== 'budget dry';
      if (lost && held.current()?.lease.epoch === holding.lease.epoch) held.drop();
    }
    const { reply, askedForMore } = await held.ask(needOf(request, said));
    if (reply === null) return { refused: turnAway(null) };
    if (reply.outcome === 'refused') {
      const short = reply.reason === 'no money' || reply.reason === 'budget exceeded';
      if (reply.reason === 'dead' || (short && askedForMore)) return null;
      return { refused: turnAway(reply.reason) };
    }
    return reply.exceeded.some((id) => request.budgets.includes(id)) ? { refused: 'BUDGET_EXCEEDED' } : null;
  }

  async function reserve(held: HeldLease, request: ReserveAsk): ReturnType<PotClient['reserve']> {
    for (let nth = 0; nth < mostTries; nth += 1) {
      const got = await attempt(held, request);
      if (got === null) continue;
      if ('leaseId' in got) held.askAhead();
      return got;
    }
    return { refused: turnAway(null) };
  }

  return {
    async reserve(request) {
      requireAmount(request.amount, 2n ** 63n - 1n);
      if (request.amount > mostPerLease) return { refused: 'INSUFFICIENT_BALANCE' };
      const held = leaseOf(request);
      const stopWaiting = held.wait(request.amount);
      try {
        return await reserve(held, request);
      } catch (error) {
        log.warn({ err: error }, 'the pot Valkey could not be asked');
        return { refused: turnAway(null) };
      } finally {
        stopWaiting();
      }
    },

    async settle(reservation, actual) {
      requireAmount(actual, mostPerLease);
      const held = leaseOf(reservation);
      const { epoch, gatewayId, requestId } = reservation;
      const holding = held.current();
      try {
        if (holding?.lease.epoch !== epoch) return;
        const answer = await holding.pots.settle(reservation, { epoch, gatewayId, requestId, actual });
        if (answer.outcome === 'settled') held.saw({ ...answer, epoch });
      } catch (error) {
        log.warn({ err: error }, 'a reservation stays until its epoch ends');
      } finally {
        held.epochs.leave(epoch, requestId);
      }
    },

    async tend() {
      await Promise.all(
        [...leases].map(async ([key, held]) => {
          await held.tend();
          // Asked at the instant of forgetting: a request may have come while the ends were reported.
          if (held.isDone()) leases.delete(key);
        }),
      );
    },

    async close() {
      await Promise.all([...leases.values()].map((held) => held.close()));
    },
  };
}
