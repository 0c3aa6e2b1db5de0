import type { EpochEnd } from '@millrace/credit-leases/protocol';
import type { Db, Reader, Tx } from '@millrace/platform/db';
import { toUuid, type LeaseId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner, type SharedLoop } from '@millrace/platform/loops';
import { applyLedger, requireLedgerSuccess } from '../../ledger/index.ts';
import { canClose } from './lease-decisions.ts';
import {
  declareHoldersDead,
  deleteUnusedGateways,
  listProcessedHolders,
  listLeaseHolders,
  listDeadHoldersToEnd,
  markAllHoldersReleased,
  markHolderReleased,
  markHolderSettled,
  type EndedHolder,
} from './lease-holders.store.ts';
import { closeCommands, type LeaseRules } from './lease-ledger.ts';
import { startClosingLeases, finishClosingLeases, endDeadHolders, releaseEndedHolders } from './loops.ts';
import {
  listBudgetGrants,
  lockLease,
  lockLeaseSeries,
  updateLease,
  type CreditLease,
} from './leases.store.ts';
import type { CreditLeaseService } from './leases.service.ts';
import {
  listClosableLeases,
  listExpiredLeases,
  listReturnedLeases,
  type LeaseRef,
} from './lease-sweeps.store.ts';
import { findCharges, readWatermarks } from './usage-charges.store.ts';

/**
 * Charges, in this transaction, what is known of requests that a gateway left unfinished on a lease; of all gateways where
 * none is named. Called when the last of its usage has been passed, before anything that is reserved is given back.
 */
export type ChargeUnfinished = (
  tx: Tx,
  left: { readonly leaseId: LeaseId; readonly gatewayId: string | null },
) => Promise<void>;

export interface CreditLeaseSweepOptions {
  readonly db: Db;
  readonly log: Pick<Logger, 'warn'>;
  readonly cell: number;
  readonly service: CreditLeaseService;
  readonly rules: LeaseRules;
  /** Puts an end-of-epoch marker into the usage stream, behind everything that stands there. */
  readonly publishEnd: (end: EpochEnd) => Promise<void>;
  /** Unless said, what was not reported to its end is not charged. */
  readonly chargeUnfinished?: ChargeUnfinished;
}

export interface CreditLeaseSweeps {
  /** Calls in leases that were not prolonged, and those that all their gateways have given back. */
  callIn(): Promise<number>;
  /** Closes what the watermark has passed: the rest of the hold goes back to the organisation. */
  closePassed(): Promise<number>;
  /** Gives up on silent gateways and speaks their end for them. */
  endDead(): Promise<number>;
  /** Gives back what gateways that died, or could not settle, have left reserved in pots that live on. */
  settleDead(): Promise<number>;
}

/** What one sweep takes up. One that takes this much has more to do. */
export const sweepBatch = 200;
/** What one call gives back: Valkey serves nobody else meanwhile. */
const settleBatch = 100;
/** Each is one row that nothing refers to. */
const deleteBatch = 10_000;

const leaseKey = ({ id }: LeaseRef): string => toUuid(id);
const endKey = ({ gatewayId, orgId, mode }: EpochEnd): string => `${gatewayId} ${toUuid(orgId)} ${mode}`;
const holderKey = ({ leaseId, gatewayId }: { leaseId: LeaseId; gatewayId: string }): string =>
  `${toUuid(leaseId)} ${gatewayId}`;

async function isReturned(reader: Reader, { orgId, id }: LeaseRef): Promise<boolean> {
  const holders = await listLeaseHolders(reader, orgId, id);
  return holders.length > 0 && holders.every(({ ended }) => ended !== null);
}

export function createCreditLeaseSweeps(options: CreditLeaseSweepOptions): CreditLeaseSweeps {
  const { db, log, cell, service, rules, chargeUnfinished = async () => undefined } = options;
  const inTransaction = <T>(name: string, work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
    db.transaction({ name, isolation: 'read committed' }, work);

  async function reread({ orgId, id }: LeaseRef): Promise<CreditLease | null> {
    return inTransaction('read lease', (tx) => lockLease(tx, orgId, id));
  }

  /**
   * A gateway may have prolonged the lease, or borrowed on it again, since it was listed. One that borrows while the pot is closed finds
   * it closed in Valkey, and asks for another lease.
   */
  async function startClosingOne(ref: LeaseRef): Promise<boolean> {
    const lease = await reread(ref);
    if (lease?.state !== 'open') return false;
    if (lease.expiresAt > db.clock.now() && !(await isReturned(db, lease))) return false;
    try {
      await service.retire(lease);
    } catch (error) {
      // Valkey admits nothing on it any more by its own clock; after as long again, it is not waited for.
      if (lease.expiresAt.getTime() + rules.leaseMs > db.clock.nowMs()) throw error;
      await service.abandon(lease);
    }
    return true;
  }

  async function closeOne(ref: LeaseRef): Promise<boolean> {
    const closed = await inTransaction('close lease', async (tx) => {
      const seen = await lockLease(tx, ref.orgId, ref.id);
      if (seen?.state !== 'closing') return null;
      const holders = await listLeaseHolders(tx, ref.orgId, ref.id);
      if (!canClose(holders, await readWatermarks(tx))) return null;
      await chargeUnfinished(tx, { leaseId: ref.id, gatewayId: null });
      // Read again: the charge has changed what is settled of it.
      const lease = (await lockLease(tx, ref.orgId, ref.id)) ?? seen;
      await updateLease(tx, ref.orgId, { ...lease, state: 'closed' });
      await markAllHoldersReleased(tx, ref.orgId, ref.id);
      const budgets = await listBudgetGrants(tx, ref.orgId, ref.id);
      for (const result of await applyLedger(tx, closeCommands(lease, budgets))) requireLedgerSuccess(result);
      return { lease, gatewayIds: holders.map(({ gatewayId }) => gatewayId) };
    });
    if (closed === null) return false;
    const { lease, gatewayIds } = closed;
    // Only tidiness: what is left behind is of an epoch that nobody will name again.
    await deleteFromValkey(lease, gatewayIds).catch((error: unknown) =>
      log.warn({ err: error, leaseId: lease.id }, 'a closed lease was left in Valkey'),
    );
    return true;
  }

  async function deleteFromValkey(lease: CreditLease, gatewayIds: readonly string[]): Promise<void> {
    const leases = await service.valkeyLeasesOf(lease.generation);
    await leases?.remove(lease, lease.epoch, gatewayIds);
  }

  /** First its usage stops being charged, then what was charged is looked up, and only then is the rest given back. */
  async function releaseOne(ended: EndedHolder): Promise<boolean> {
    const leases = await service.valkeyLeasesOf(ended.generation);
    if (leases === null) return false;
    await inTransaction('settle ended gateway', async (tx) => {
      await lockLeaseSeries(tx, ended);
      await lockLease(tx, ended.orgId, ended.leaseId);
      await chargeUnfinished(tx, ended);
      await markHolderSettled(tx, ended.orgId, ended);
    });
    const { epoch, gatewayId } = ended;
    const reservations = await leases.reservationsOf(ended, epoch, gatewayId);
    const charges = await findCharges(
      db,
      reservations.map(({ requestId }) => requestId),
    );
    for (let at = 0; at < reservations.length; at += settleBatch) {
      const requests = reservations.slice(at, at + settleBatch).map(({ requestId }) => {
        const charge = charges.get(requestId);
        return { requestId, actual: charge?.outcome === 'charged' ? charge.amount : 0n };
      });
      await leases.settle(ended, { epoch, gatewayId, requests, back: [] });
    }
    await inTransaction('give back of ended gateway', (tx) => markHolderReleased(tx, ended.orgId, ended));
    return true;
  }

  /** Returns how many were acted on. A pot that fails must not delay the others. */
  async function count<T>(
    loop: SharedLoop,
    found: readonly T[],
    key: (one: T) => string,
    handle: (one: T) => Promise<boolean>,
  ): Promise<number> {
    let acted = 0;
    await createItemRunner(loop, { db, log }).run(found, {
      key,
      work: async (one) => {
        if (await handle(one)) acted += 1;
      },
    });
    return acted;
  }

  return {
    async callIn() {
      const now = db.clock.now();
      const expired = await listExpiredLeases(db, cell, now, sweepBatch);
      const returned = await listReturnedLeases(db, cell, now, sweepBatch - expired.length);
      return count(startClosingLeases, [...expired, ...returned], leaseKey, startClosingOne);
    },
    closePassed: async () =>
      count(
        finishClosingLeases,
        await listClosableLeases(db, cell, db.clock.now(), sweepBatch),
        leaseKey,
        closeOne,
      ),
    async endDead() {
      await inTransaction('declare gateways dead', async (tx) => {
        const before = new Date(tx.clock.nowMs() - rules.deadAfterMs);
        await declareHoldersDead(tx, cell, before);
        await deleteUnusedGateways(tx, cell, before, deleteBatch);
      });
      const dead = await listDeadHoldersToEnd(db, cell, db.clock.now(), sweepBatch);
      return count(endDeadHolders, dead, endKey, async (end) => {
        await options.publishEnd(end);
        return true;
      });
    },
    settleDead: async () =>
      count(
        releaseEndedHolders,
        await listProcessedHolders(db, cell, db.clock.now(), sweepBatch),
        holderKey,
        releaseOne,
      ),
  };
}
