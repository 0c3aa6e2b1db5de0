import type { Timer } from '@millrace/platform/clock';
import type { RequestId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { HeldLease, ActiveLease } from './held-lease.ts';
import type { LimitRefund, LeaseOwner } from '../protocol/valkey-leases.ts';
import type { Reservation } from './client-types.ts';
import { limitSetOf, unusedTokens } from '../protocol/request-limits.ts';

/** Settles requests in batches: acknowledgements arrive together, so many requests of one lease share a Valkey call. */
export interface SettlementBatcher {
  /** Resolves when Valkey has responded or the call has failed. */
  settle(reservation: Reservation, actual: bigint, tokens: number): Promise<void>;
}

interface SettlementBatch {
  readonly holding: ActiveLease;
  readonly gatewayId: string;
  readonly requests: { readonly requestId: RequestId; readonly actual: bigint }[];
  readonly back: Map<string, LimitRefund>;
  readonly done: Promise<void>;
}

/** Limits how long one script blocks Valkey. */
const maxBatchSize = 100;

const alreadySettled = Promise.resolve();

export function limitRefundsOf(reservation: Reservation, tokens: number, nowMs: number): LimitRefund[] {
  const set = limitSetOf(reservation.orgId, reservation.limits);
  if (!set.countsTokens || tokens >= reservation.tokens) return [];
  const since = { counted: reservation.tokens, used: tokens, sinceMs: nowMs - reservation.reservedAtMs };
  const backs: LimitRefund[] = [];
  for (const [index, limit] of set.limits.entries()) {
    const units = limit.counts === 'tokens' ? unusedTokens(limit, since) : 0;
    if (units === 0) continue;
    const [key = '', size = '', window = ''] = [set.keys[index], set.sizes[index], set.windows[index]];
    backs.push({ key, size, window, units });
  }
  return backs;
}

export function createSettlementBatcher(
  name: LeaseOwner,
  held: HeldLease,
  { clock, log }: { readonly clock: Timer; readonly log: Pick<Logger, 'warn'> },
): SettlementBatcher {
  let open: SettlementBatch | null = null;

  async function send(batch: SettlementBatch): Promise<void> {
    const { holding, gatewayId, requests } = batch;
    const { epoch } = holding.lease;
    try {
      const end = { epoch, gatewayId, requests, back: [...batch.back.values()] };
      const result = await holding.leases.settle(name, end);
      if (result.outcome === 'settled') held.recordState({ ...result, epoch });
    } catch (error) {
      log.warn(
        { err: error, requests: requests.length },
        'could not settle reservations; they remain until their epoch ends',
      );
    } finally {
      for (const { requestId } of requests) held.epochs.leave(epoch, requestId);
    }
  }

  function begin(holding: ActiveLease, gatewayId: string): SettlementBatch {
    const batch: SettlementBatch = {
      holding,
      gatewayId,
      requests: [],
      back: new Map(),
      done: Promise.resolve().then(() => {
        if (open === batch) open = null;
        return send(batch);
      }),
    };
    return batch;
  }

  return {
    settle(reservation, actual, tokens) {
      const { epoch, gatewayId, requestId } = reservation;
      if (!held.epochs.has(epoch, requestId)) return alreadySettled;
      const holding = held.current();
      if (holding?.lease.epoch !== epoch) {
        held.epochs.leave(epoch, requestId);
        return alreadySettled;
      }
      const isFull = open === null || open.requests.length >= maxBatchSize;
      if (open === null || isFull || open.gatewayId !== gatewayId || open.holding.lease.epoch !== epoch) {
        open = begin(holding, gatewayId);
      }
      open.requests.push({ requestId, actual });
      for (const back of limitRefundsOf(reservation, tokens, clock.monotonicMs())) {
        const units = (open.back.get(back.key)?.units ?? 0) + back.units;
        open.back.set(back.key, { ...back, units });
      }
      return open.done;
    },
  };
}
