import { computeReport, findingsOf, isClean } from '../auditor/index.ts';
import { isContended, type Db, type Reader, type Tx } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import {
  beginArchive,
  beginUsageArchive,
  claimArchiving,
  deleteArchivedLeases,
  deleteArchivedUsage,
  findDueArchive,
  findDueUsageArchive,
  moveTransfers,
} from './archive.store.ts';

export interface ArchiverOptions {
  readonly log: Pick<Logger, 'error' | 'info'>;
  /** Months that stay after their end. 0 archives nothing. */
  readonly afterMonths: number;
  readonly statementTimeoutMs: number;
  /** Rows that move, or are deleted, in one transaction. */
  readonly batch: number;
}

type Step = () => Promise<'busy' | 'idle'>;

/** How long to wait with the next audit after one that found drift, because each reads the whole ledger. */
const RETRY_MS = 6 * 3_600_000;

/**
 * Returns one step of the archive: moves a batch, or audits the ledger and begins an archive. Every step is one transaction, so
 * a crash loses nothing, and any number of workers may run it.
 */
export function createArchiver(db: Db, options: ArchiverOptions): Step {
  const begin = createBegin(db, options, {
    what: 'charges of closed months',
    findDue: findDueArchive,
    begin: beginArchive,
  });
  return async () => {
    const moved = await db.transaction(
      { name: 'move archived transfers', isolation: 'read committed' },
      (tx) => moveTransfers(tx, options.batch),
    );
    return moved > 0 ? 'busy' : begin();
  };
}

/**
 * Returns one step that deletes details of archived requests and leases, or audits and begins an archive of requests. As with
 * `createArchiver`, a crash loses nothing, and any number of workers may run it.
 */
export function createUsageArchiver(db: Db, options: ArchiverOptions): Step {
  const { batch } = options;
  const begin = createBegin(db, options, {
    what: 'requests of closed months',
    findDue: findDueUsageArchive,
    begin: beginUsageArchive,
  });
  return async () => {
    // Separate, so that one that always fails does not stop the other.
    const leases = await countDeleted(db, options, 'leases', (tx) => deleteArchivedLeases(tx, batch));
    const usage = await countDeleted(db, options, 'usage', (tx) => deleteArchivedUsage(tx, batch));
    return leases + usage > 0 ? 'busy' : begin();
  };
}

async function countDeleted(
  db: Db,
  { log }: Pick<ArchiverOptions, 'log'>,
  what: string,
  work: (tx: Tx) => Promise<number>,
): Promise<number> {
  try {
    return await db.transaction({ name: `delete archived ${what}`, isolation: 'read committed' }, work);
  } catch (error) {
    if (isContended(error)) log.info({ what }, 'others use the table; the deletion is tried again');
    else log.error({ err: error, what }, 'archived rows could not be deleted');
    return 0;
  }
}

interface ArchiveKind {
  /** For the log. */
  readonly what: string;
  readonly findDue: (reader: Reader, afterMonths: number) => Promise<string | null>;
  readonly begin: (tx: Tx, through: string) => Promise<string>;
}

function createBegin(db: Db, options: ArchiverOptions, kind: ArchiveKind): Step {
  let nextAuditMs = 0;
  return async () => {
    if (options.afterMonths === 0 || db.clock.monotonicMs() < nextAuditMs) return 'idle';
    const through = await kind.findDue(db, options.afterMonths);
    if (through === null) return 'idle';
    const outcome = await auditAndBegin(db, through, options, kind);
    if (outcome === 'refused') nextAuditMs = db.clock.monotonicMs() + RETRY_MS;
    return outcome === 'begun' ? 'busy' : 'idle';
  };
}

/** The recorded sums are from the snapshot that the audit checked. `busy`: another worker audits and begins. */
async function auditAndBegin(
  db: Db,
  through: string,
  { log, statementTimeoutMs }: ArchiverOptions,
  { what, begin }: ArchiveKind,
): Promise<'begun' | 'busy' | 'refused'> {
  return db.transaction({ name: 'begin archive', isolation: 'repeatable read' }, async (tx) => {
    if (!(await claimArchiving(tx))) return 'busy';
    const report = await computeReport(tx, { kind: 'full', statementTimeoutMs });
    if (!isClean(report.outcomes)) {
      const findings = findingsOf(report, 'error').length;
      log.error({ through, findings }, `${what} are not archived, because the audit found drift`);
      return 'refused';
    }
    const outcome = await begin(tx, through);
    if (outcome === 'begun') log.info({ through }, `an archive of ${what} begins`);
    else log.error({ through, outcome }, `${what} are not archived`);
    return outcome === 'begun' ? 'begun' : 'refused';
  });
}
