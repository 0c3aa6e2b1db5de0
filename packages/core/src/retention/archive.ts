import { computeReport, findingsOf, isClean } from '../auditor/index.ts';
import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { beginArchive, findDueArchive, moveTransfers } from './archive.store.ts';

export interface ArchiverOptions {
  readonly log: Pick<Logger, 'error' | 'info'>;
  /** Months that stay in the ledger after their end. 0 archives nothing. */
  readonly afterMonths: number;
  readonly statementTimeoutMs: number;
  /** Transfers that move in one transaction. */
  readonly batch: number;
}

/** How long to wait with the next audit after one that found drift, because each reads the whole ledger. */
const RETRY_MS = 6 * 3_600_000;

/**
 * Returns one step of the archive: moves a batch, or audits the ledger and begins an archive. Every step is one transaction, so
 * a crash loses nothing, and any number of workers may run it.
 */
export function createArchiver(db: Db, options: ArchiverOptions): () => Promise<'busy' | 'idle'> {
  let nextAuditMs = 0;
  return async () => {
    const moved = await db.transaction(
      { name: 'move archived transfers', isolation: 'read committed' },
      (tx) => moveTransfers(tx, options.batch),
    );
    if (moved > 0) return 'busy';
    if (options.afterMonths === 0 || db.clock.monotonicMs() < nextAuditMs) return 'idle';
    const through = await findDueArchive(db, options.afterMonths);
    if (through === null) return 'idle';
    const isStarted = await auditAndBegin(db, through, options);
    if (!isStarted) nextAuditMs = db.clock.monotonicMs() + RETRY_MS;
    return isStarted ? 'busy' : 'idle';
  };
}

/** The opening balances are from the snapshot that the audit checked. */
async function auditAndBegin(
  db: Db,
  through: string,
  { log, statementTimeoutMs }: ArchiverOptions,
): Promise<boolean> {
  return db.transaction({ name: 'begin archive', isolation: 'repeatable read' }, async (tx) => {
    const report = await computeReport(tx, { kind: 'full', statementTimeoutMs });
    if (!isClean(report.outcomes)) {
      const findings = findingsOf(report, 'error').length;
      log.error({ through, findings }, 'closed months are not archived, because the audit found drift');
      return false;
    }
    const outcome = await beginArchive(tx, through);
    if (outcome === 'begun') log.info({ through }, 'an archive of closed months begins');
    else log.error({ through, outcome }, 'closed months are not archived');
    return outcome === 'begun';
  });
}
