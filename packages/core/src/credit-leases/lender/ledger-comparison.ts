import type { EnlargeResult, OpenResult, ValkeyLeases } from '@millrace/credit-leases/protocol';
import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { lockLease, raiseLastEpoch, type CreditLease } from './leases.store.ts';

/**
 * Compares what Valkey answers with the ledger. The ledger is always written first, so an epoch or an amount in Valkey that
 * the ledger does not have proves that the ledger was restored to an earlier point.
 */

interface LedgerComparisonDeps {
  readonly db: Db;
  readonly log: Pick<Logger, 'error'>;
  readonly valkeyLeasesOf: (generation: bigint) => Promise<ValkeyLeases | null>;
  /** Lends no more on a lease and gives nothing back before its usage is charged. */
  readonly abandon: (lease: CreditLease) => Promise<void>;
}

/** Returns true if Valkey was ahead of the ledger: the lease has then ended, and another one is needed. */
export function createLedgerComparison(
  deps: LedgerComparisonDeps,
): (lease: CreditLease, placed: EnlargeResult | OpenResult) => Promise<boolean> {
  const { db, log, valkeyLeasesOf, abandon } = deps;
  const restored = (lease: CreditLease, epoch: bigint, message: string): void =>
    log.error({ orgId: lease.orgId, leaseId: lease.id, epoch: epoch.toString() }, message);

  /** No gateway knows this lease yet, so it is closed at once and the next one gets a higher epoch. */
  async function skipEpoch(lease: CreditLease, epoch: bigint): Promise<void> {
    restored(lease, epoch, 'Valkey has an epoch that the ledger does not know: the database was restored');
    await db.transaction({ name: 'pass epoch', isolation: 'read committed' }, (tx) =>
      raiseLastEpoch(tx, lease, epoch),
    );
    await abandon(lease);
  }

  async function isAheadOfLedger(lease: CreditLease, granted: bigint): Promise<boolean> {
    if (granted <= lease.granted) return false;
    // Another worker may have enlarged it since this one wrote its own amount.
    const now = await db.transaction({ name: 'read lease', isolation: 'read committed' }, (tx) =>
      lockLease(tx, lease.orgId, lease.id),
    );
    return now === null || now.granted < granted;
  }

  /** The part that Valkey has spent may be all that the ledger has lent, so none of it is given back here. */
  async function closeLeaseAheadOfLedger(lease: CreditLease): Promise<void> {
    restored(lease, lease.epoch, 'Valkey was granted more than the ledger knows: the database was restored');
    const leases = await valkeyLeasesOf(lease.generation);
    await leases?.close(lease, lease.epoch, []);
    await abandon(lease);
  }

  return async (lease, placed) => {
    if (placed.outcome === 'stale') {
      await skipEpoch(lease, placed.epoch);
      return true;
    }
    if (placed.outcome !== 'granted' || !(await isAheadOfLedger(lease, placed.granted))) return false;
    await closeLeaseAheadOfLedger(lease);
    return true;
  };
}
