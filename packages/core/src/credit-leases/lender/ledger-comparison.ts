import type { EnlargeResult, OpenResult, ValkeyLeases } from '@millrace/credit-leases/protocol';
import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { lockLease, raiseLastEpoch, type CreditLease } from './leases.store.ts';

/**
 * Compares Valkey with the ledger. The ledger is written first, so an epoch or amount that only Valkey has proves that the
 * database was restored to an earlier point. Returns true in that case: the lease has ended, and a new one is needed.
 */
export async function repairAfterRestore(
  deps: {
    readonly db: Db;
    readonly log: Pick<Logger, 'error'>;
    readonly service: {
      valkeyLeasesOf(generation: bigint): Promise<ValkeyLeases | null>;
      abandon(lease: CreditLease): Promise<void>;
    };
  },
  lease: CreditLease,
  placed: EnlargeResult | OpenResult,
): Promise<boolean> {
  const { db, log, service } = deps;
  const logRestored = (epoch: bigint, message: string): void =>
    log.error({ orgId: lease.orgId, leaseId: lease.id, epoch: epoch.toString() }, message);
  if (placed.outcome === 'stale') {
    // No gateway has this lease yet, so it is closed at once and the next one gets a higher epoch.
    logRestored(placed.epoch, 'the database was restored: Valkey has an epoch that the ledger does not have');
    await db.transaction({ name: 'pass epoch', isolation: 'read committed' }, (tx) =>
      raiseLastEpoch(tx, lease, placed.epoch),
    );
  } else if (placed.outcome === 'granted' && (await isAheadOfLedger(db, lease, placed.granted))) {
    logRestored(lease.epoch, 'the database was restored: Valkey has a larger grant than the ledger');
    // Valkey may have spent everything that the ledger granted, so no credit is released here.
    const leases = await service.valkeyLeasesOf(lease.generation);
    await leases?.close(lease, lease.epoch, []);
  } else return false;
  await service.abandon(lease);
  return true;
}

async function isAheadOfLedger(db: Db, lease: CreditLease, granted: bigint): Promise<boolean> {
  if (granted <= lease.granted) return false;
  // Another worker may have enlarged the lease since this one wrote its amount.
  const now = await db.transaction({ name: 'read lease', isolation: 'read committed' }, (tx) =>
    lockLease(tx, lease.orgId, lease.id),
  );
  return now === null || now.granted < granted;
}
