import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import type { Enlarged, Opened, PotValkey } from './pot-valkey.ts';
import { lockLease, raiseEpoch, type Lease } from './pots.store.ts';

/**
 * Compares what Valkey answers with the ledger. The ledger is always written first, so an epoch or an amount in Valkey that
 * the ledger does not have proves that the ledger was restored to an earlier point.
 */

interface ComparisonParts {
  readonly db: Db;
  readonly log: Pick<Logger, 'error'>;
  readonly potsOf: (generation: bigint) => Promise<PotValkey | null>;
  /** Lends no more on a lease and gives nothing back before its usage is charged. */
  readonly abandon: (lease: Lease) => Promise<void>;
}

/** Returns true if Valkey was ahead of the ledger: the lease has then ended, and another one is needed. */
export function createLedgerComparison(
  parts: ComparisonParts,
): (lease: Lease, placed: Enlarged | Opened) => Promise<boolean> {
  const { db, log, potsOf, abandon } = parts;
  const restored = (lease: Lease, epoch: bigint, message: string): void =>
    log.error({ orgId: lease.orgId, leaseId: lease.id, epoch: epoch.toString() }, message);

  /** No gateway knows this lease yet, so it is closed at once and the next one gets a higher epoch. */
  async function passEpoch(lease: Lease, epoch: bigint): Promise<void> {
    restored(lease, epoch, 'Valkey has an epoch that the ledger does not know: the database was restored');
    await db.transaction({ name: 'pass epoch', isolation: 'read committed' }, (tx) =>
      raiseEpoch(tx, lease, epoch),
    );
    await abandon(lease);
  }

  async function isBeyondLedger(lease: Lease, granted: bigint): Promise<boolean> {
    if (granted <= lease.granted) return false;
    // Another worker may have enlarged it since this one wrote its own amount.
    const now = await db.transaction({ name: 'read lease', isolation: 'read committed' }, (tx) =>
      lockLease(tx, lease.orgId, lease.id),
    );
    return now === null || now.granted < granted;
  }

  /** The part that Valkey has spent may be all that the ledger has lent, so none of it is given back here. */
  async function closeBeyondLedger(lease: Lease): Promise<void> {
    restored(lease, lease.epoch, 'Valkey was granted more than the ledger knows: the database was restored');
    const pots = await potsOf(lease.generation);
    await pots?.close(lease, lease.epoch, []);
    await abandon(lease);
  }

  return async (lease, placed) => {
    if (placed.outcome === 'stale') {
      await passEpoch(lease, placed.epoch);
      return true;
    }
    if (placed.outcome !== 'granted' || !(await isBeyondLedger(lease, placed.granted))) return false;
    await closeBeyondLedger(lease);
    return true;
  };
}
