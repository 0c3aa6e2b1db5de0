import type { Clock } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import type { LeaseId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { applyLedger, requireDone } from '../ledger/index.ts';
import {
  declareDead,
  forgetGateways,
  listPassed,
  listTold,
  listUnendedDead,
  markAllGivenBack,
  markGivenBack,
  markSettled,
  type EndedGateway,
} from './gateways.store.ts';
import { closeCommands, type LeaseRules } from './lease-book.ts';
import type { EpochEnd } from './messages.ts';
import { mayClose } from './pot.ts';
import { listLentBudgets, lockLease, lockPot, updateLease, type Lease } from './pots.store.ts';
import type { PotService } from './pots.service.ts';
import { listClosable, listExpired, type LeaseRef } from './sweeps.store.ts';
import { findCharges, readWatermarks } from './usage.store.ts';

/**
 * Charges, in this transaction, what is known of requests that a gateway left unfinished on a lease; of all gateways where
 * none is named. Called when the last of its usage has been passed, before anything that is reserved is given back.
 */
export type ChargeUnfinished = (
  tx: Tx,
  left: { readonly leaseId: LeaseId; readonly gatewayId: string | null },
) => Promise<void>;

export interface PotSweepOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly cell: number;
  readonly service: PotService;
  readonly rules: LeaseRules;
  /** Puts an end-of-epoch marker into the usage stream, behind everything that stands there. */
  readonly publishEnd: (end: EpochEnd) => Promise<void>;
  /** Unless said, what was not reported to its end is not charged. */
  readonly chargeUnfinished?: ChargeUnfinished;
}

export interface PotSweeps {
  /** Calls in leases that nobody prolonged. */
  callIn(): Promise<number>;
  /** Closes what the watermark has passed: the rest of the hold goes back to the organisation. */
  closePassed(): Promise<number>;
  /** Gives up on silent gateways and speaks their end for them. */
  buryDead(): Promise<number>;
  /** Gives back what gateways that died, or could not settle, have left reserved in pots that live on. */
  settleDead(): Promise<number>;
}

/** What one sweep takes up. One that takes this much has more to do. */
export const sweepBatch = 200;
/** What one call gives back: Valkey serves nobody else meanwhile. */
const settleBatch = 100;
/** Each is one row that nothing refers to. */
const forgetBatch = 10_000;

export function createPotSweeps(options: PotSweepOptions): PotSweeps {
  const { db, clock, log, cell, service, rules, chargeUnfinished = async () => undefined } = options;
  const inTransaction = <T>(name: string, work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
    db.transaction({ name, isolation: 'read committed' }, work);

  async function reread({ orgId, id }: LeaseRef): Promise<Lease | null> {
    return inTransaction('read lease', (tx) => lockLease(tx, orgId, id));
  }

  /** Someone may have prolonged it since it was listed; that is seen in Valkey and in the book before it counts. */
  async function callInOne(ref: LeaseRef): Promise<boolean> {
    const lease = await reread(ref);
    if (lease?.state !== 'open' || lease.expiresAt > clock.now()) return false;
    try {
      await service.retire(lease);
    } catch (error) {
      // Valkey admits nothing on it any more by its own clock; after as long again, it is not waited for.
      if (lease.expiresAt.getTime() + rules.leaseMs > clock.nowMs()) throw error;
      await service.abandon(lease);
    }
    return true;
  }

  async function closeOne(ref: LeaseRef): Promise<boolean> {
    const closed = await inTransaction('close lease', async (tx) => {
      const seen = await lockLease(tx, ref.orgId, ref.id);
      if (seen?.state !== 'closing') return null;
      const told = await listTold(tx, ref.orgId, ref.id);
      if (!mayClose(told, await readWatermarks(tx))) return null;
      await chargeUnfinished(tx, { leaseId: ref.id, gatewayId: null });
      // Read again: the charge has changed what is settled of it.
      const lease = (await lockLease(tx, ref.orgId, ref.id)) ?? seen;
      await updateLease(tx, ref.orgId, { ...lease, state: 'closed' });
      await markAllGivenBack(tx, ref.orgId, ref.id);
      const budgets = await listLentBudgets(tx, ref.orgId, ref.id);
      for (const result of await applyLedger(tx, closeCommands(lease, budgets))) requireDone(result);
      return { lease, gatewayIds: told.map(({ gatewayId }) => gatewayId) };
    });
    if (closed === null) return false;
    const { lease, gatewayIds } = closed;
    // Only tidiness: what is left behind is of an epoch that nobody will name again.
    await forget(lease, gatewayIds).catch((error: unknown) =>
      log.warn({ err: error, leaseId: lease.id }, 'a closed lease was left in Valkey'),
    );
    return true;
  }

  async function forget(lease: Lease, gatewayIds: readonly string[]): Promise<void> {
    const pots = await service.potsOf(lease.generation);
    await pots?.forget(lease, lease.epoch, gatewayIds);
  }

  /** First its usage stops being charged, then what was charged is looked up, and only then is the rest given back. */
  async function settleOne(ended: EndedGateway): Promise<boolean> {
    const pots = await service.potsOf(ended.generation);
    if (pots === null) return false;
    await inTransaction('settle ended gateway', async (tx) => {
      await lockPot(tx, ended);
      await lockLease(tx, ended.orgId, ended.leaseId);
      await chargeUnfinished(tx, ended);
      await markSettled(tx, ended.orgId, ended);
    });
    const { epoch, gatewayId } = ended;
    const reservations = await pots.reservationsOf(ended, epoch, gatewayId);
    const charges = await findCharges(
      db,
      reservations.map(({ requestId }) => requestId),
    );
    for (let at = 0; at < reservations.length; at += settleBatch) {
      const requests = reservations.slice(at, at + settleBatch).map(({ requestId }) => {
        const charge = charges.get(requestId);
        return { requestId, actual: charge?.outcome === 'charged' ? charge.amount : 0n };
      });
      await pots.settle(ended, { epoch, gatewayId, requests, back: [] });
    }
    await inTransaction('give back of ended gateway', (tx) => markGivenBack(tx, ended.orgId, ended));
    return true;
  }

  async function count<T>(found: readonly T[], act: (one: T) => Promise<boolean>): Promise<number> {
    let acted = 0;
    for (const one of found) {
      // One pot that cannot be helped now must not hold up the others.
      const done = await act(one).catch((error: unknown) => {
        log.warn({ err: error }, 'a pot will be looked at again');
        return false;
      });
      if (done) acted += 1;
    }
    return acted;
  }

  return {
    callIn: async () => count(await listExpired(db, cell, clock.now(), sweepBatch), callInOne),
    closePassed: async () => count(await listClosable(db, cell, sweepBatch), closeOne),
    async buryDead() {
      const before = new Date(clock.nowMs() - rules.deadAfterMs);
      await inTransaction('declare gateways dead', async (tx) => {
        await declareDead(tx, cell, before);
        await forgetGateways(tx, cell, before, forgetBatch);
      });
      return count(await listUnendedDead(db, cell, sweepBatch), async (end) => {
        await options.publishEnd(end);
        return true;
      });
    },
    settleDead: async () => count(await listPassed(db, cell, sweepBatch), settleOne),
  };
}
