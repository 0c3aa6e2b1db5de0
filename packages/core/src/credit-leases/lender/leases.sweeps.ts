import type { EpochEnd } from '@millrace/credit-leases/protocol';
import type { Db, Tx } from '@millrace/platform/db';
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
import { listBudgetGrants, lockLease, lockLeaseSeries, updateLease } from './leases.store.ts';
import type { CreditLeaseService } from './leases.service.ts';
import { listClosableLeases, listExpiredLeases, listReturnedLeases } from './lease-sweeps.store.ts';
import type { LeaseRef } from './lease-sweeps.store.ts';
import { findCharges, readWatermarks } from './usage-charges.store.ts';

/**
 * Charges the reported part of requests that a gateway left unfinished on a lease; of all gateways if none is named. Called
 * after the last usage has been processed and before reservations are released.
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
  /** Publishes an end marker behind all messages in the usage stream. */
  readonly publishEnd: (end: EpochEnd) => Promise<void>;
  /** By default unfinished requests are not charged. */
  readonly chargeUnfinished?: ChargeUnfinished;
}

export interface CreditLeaseSweeps {
  /** Starts closing leases that were not renewed or that all holders have returned. */
  callIn(): Promise<number>;
  /** Closes leases whose holders have ended before the watermark, and releases the rest of the hold. */
  closePassed(): Promise<number>;
  /** Declares gateways without contact dead and publishes their end markers. */
  endDead(): Promise<number>;
  /** Releases reservations that dead or ended gateways left in open leases. */
  settleDead(): Promise<number>;
}

/** The size of one sweep. A full sweep has more to do. */
export const sweepBatch = 200;
/** Limits how long one script blocks Valkey. */
const settleBatch = 100;
const deleteBatch = 10_000;

const leaseKey = ({ id }: LeaseRef): string => toUuid(id);
const endKey = ({ gatewayId, orgId, mode }: EpochEnd): string => `${gatewayId} ${toUuid(orgId)} ${mode}`;
const holderKey = ({ leaseId, gatewayId }: EndedHolder): string => `${toUuid(leaseId)} ${gatewayId}`;

async function isReturned(db: Db, { orgId, id }: LeaseRef): Promise<boolean> {
  const holders = await listLeaseHolders(db, orgId, id);
  return holders.length > 0 && holders.every(({ ended }) => ended !== null);
}

const inTransaction = <T>(db: Db, name: string, work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
  db.transaction({ name, isolation: 'read committed' }, work);

/**
 * A gateway may have renewed or requested the lease again since it was listed. A gateway that requests it during the closing
 * finds it closed in Valkey and requests another lease.
 */
async function startClosing(options: CreditLeaseSweepOptions, ref: LeaseRef): Promise<boolean> {
  const { db, service, rules } = options;
  const lease = await inTransaction(db, 'read lease', (tx) => lockLease(tx, ref.orgId, ref.id));
  if (lease?.state !== 'open') return false;
  if (lease.expiresAt > db.clock.now() && !(await isReturned(db, lease))) return false;
  try {
    await service.retire(lease);
  } catch (error) {
    // By its own clock Valkey admits nothing more on this lease. After another lease time, stop waiting for Valkey.
    if (lease.expiresAt.getTime() + rules.leaseMs > db.clock.nowMs()) throw error;
    await service.abandon(lease);
  }
  return true;
}

async function close(options: CreditLeaseSweepOptions, { orgId, id }: LeaseRef): Promise<boolean> {
  const { db, log, service, chargeUnfinished } = options;
  const closed = await inTransaction(db, 'close lease', async (tx) => {
    const seen = await lockLease(tx, orgId, id);
    if (seen?.state !== 'closing') return null;
    const holders = await listLeaseHolders(tx, orgId, id);
    if (!canClose(holders, await readWatermarks(tx))) return null;
    await chargeUnfinished?.(tx, { leaseId: id, gatewayId: null });
    // Read again: the charge has changed its settled amount.
    const lease = (await lockLease(tx, orgId, id)) ?? seen;
    await updateLease(tx, orgId, { ...lease, state: 'closed' });
    await markAllHoldersReleased(tx, orgId, id);
    const budgets = await listBudgetGrants(tx, orgId, id);
    for (const result of await applyLedger(tx, closeCommands(lease, budgets))) requireLedgerSuccess(result);
    return { lease, gatewayIds: holders.map(({ gatewayId }) => gatewayId) };
  });
  if (closed === null) return false;
  const { generation, epoch } = closed.lease;
  try {
    const leases = await service.valkeyLeasesOf(generation);
    await leases?.remove(closed.lease, epoch, closed.gatewayIds);
  } catch (error) {
    // Only uses memory: the epoch is never used again.
    log.warn({ err: error, leaseId: id }, 'could not delete a closed lease from Valkey');
  }
  return true;
}

/** The order matters: stop charging this holder's usage, look up the charges, then release the rest. */
async function release(options: CreditLeaseSweepOptions, ended: EndedHolder): Promise<boolean> {
  const { db, service, chargeUnfinished } = options;
  const leases = await service.valkeyLeasesOf(ended.generation);
  if (leases === null) return false;
  await inTransaction(db, 'settle ended gateway', async (tx) => {
    await lockLeaseSeries(tx, ended);
    await lockLease(tx, ended.orgId, ended.leaseId);
    await chargeUnfinished?.(tx, ended);
    await markHolderSettled(tx, ended.orgId, ended);
  });
  const { epoch, gatewayId } = ended;
  const reservations = await leases.reservationsOf(ended, epoch, gatewayId);
  const requestIds = reservations.map(({ requestId }) => requestId);
  const charges = await findCharges(db, requestIds);
  for (let at = 0; at < requestIds.length; at += settleBatch) {
    const requests = requestIds.slice(at, at + settleBatch).map((requestId) => {
      const charge = charges.get(requestId);
      return { requestId, actual: charge?.outcome === 'charged' ? charge.amount : 0n };
    });
    await leases.settle(ended, { epoch, gatewayId, requests, back: [] });
  }
  await inTransaction(db, 'give back of ended gateway', (tx) => markHolderReleased(tx, ended.orgId, ended));
  return true;
}

export function createCreditLeaseSweeps(options: CreditLeaseSweepOptions): CreditLeaseSweeps {
  const { db, log, cell, rules } = options;

  /** Returns the number of changed items. A failing item must not delay the others. */
  async function count<T>(
    loop: SharedLoop,
    found: readonly T[],
    key: (one: T) => string,
    handle: (options: CreditLeaseSweepOptions, one: T) => Promise<boolean>,
  ): Promise<number> {
    let acted = 0;
    const work = async (one: T): Promise<void> => {
      if (await handle(options, one)) acted += 1;
    };
    await createItemRunner(loop, { db, log }).run(found, { key, work });
    return acted;
  }

  return {
    async callIn() {
      // One time for both, so that no lease is in both lists.
      const now = db.clock.now();
      const expired = await listExpiredLeases(db, cell, now, sweepBatch);
      const returned = await listReturnedLeases(db, cell, now, sweepBatch - expired.length);
      return count(startClosingLeases, [...expired, ...returned], leaseKey, startClosing);
    },
    async closePassed() {
      const closable = await listClosableLeases(db, cell, sweepBatch);
      return count(finishClosingLeases, closable, leaseKey, close);
    },
    async endDead() {
      await inTransaction(db, 'declare gateways dead', async (tx) => {
        const before = new Date(tx.clock.nowMs() - rules.deadAfterMs);
        await declareHoldersDead(tx, cell, before);
        await deleteUnusedGateways(tx, cell, before, deleteBatch);
      });
      const dead = await listDeadHoldersToEnd(db, cell, sweepBatch);
      return count(endDeadHolders, dead, endKey, async ({ publishEnd }, end) => {
        await publishEnd(end);
        return true;
      });
    },
    async settleDead() {
      const ended = await listProcessedHolders(db, cell, sweepBatch);
      return count(releaseEndedHolders, ended, holderKey, release);
    },
  };
}
