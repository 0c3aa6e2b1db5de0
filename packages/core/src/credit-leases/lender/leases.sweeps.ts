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
const holderKey = ({ leaseId, gatewayId }: EndedHolder): string => `${toUuid(leaseId)} ${gatewayId}`;

async function isReturned(db: Db, { orgId, id }: LeaseRef): Promise<boolean> {
  const holders = await listLeaseHolders(db, orgId, id);
  return holders.length > 0 && holders.every(({ ended }) => ended !== null);
}

const inTransaction = <T>(db: Db, name: string, work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
  db.transaction({ name, isolation: 'read committed' }, work);

/**
 * A gateway may have prolonged the lease, or borrowed on it again, since it was listed. One that borrows while the pot is closed finds
 * it closed in Valkey, and asks for another lease.
 */
async function startClosing(options: CreditLeaseSweepOptions, ref: LeaseRef): Promise<boolean> {
  const { db, service, rules } = options;
  const lease = await inTransaction(db, 'read lease', (tx) => lockLease(tx, ref.orgId, ref.id));
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

async function close(options: CreditLeaseSweepOptions, { orgId, id }: LeaseRef): Promise<boolean> {
  const { db, log, service, chargeUnfinished } = options;
  const closed = await inTransaction(db, 'close lease', async (tx) => {
    const seen = await lockLease(tx, orgId, id);
    if (seen?.state !== 'closing') return null;
    const holders = await listLeaseHolders(tx, orgId, id);
    if (!canClose(holders, await readWatermarks(tx))) return null;
    await chargeUnfinished?.(tx, { leaseId: id, gatewayId: null });
    // Read again: the charge has changed what is settled of it.
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
    // Only tidiness: what is left behind is of an epoch that nobody will name again.
    log.warn({ err: error, leaseId: id }, 'a closed lease was left in Valkey');
  }
  return true;
}

/** First its usage stops being charged, then what was charged is looked up, and only then is the rest given back. */
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

  /** Returns how many were acted on. A pot that fails must not delay the others. */
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
      // One instant for both, so that no lease is in both lists.
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
