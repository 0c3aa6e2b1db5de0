import type { Item, Millrace } from '@millrace/sdk';

export type AuditReport = Item<'adminListAuditReports'>;

/** Newest reports; null if there is none. */
export interface NewestReports {
  readonly any: AuditReport | null;
  readonly withErrors: AuditReport | null;
  readonly full: AuditReport | null;
}

/**
 * The report that states the condition of the ledger. A report with errors does so until a later full audit found none: an
 * incremental audit checks only what changed.
 */
export function ledgerCondition({ any, withErrors, full }: NewestReports): AuditReport | null {
  if (withErrors === null) return any;
  const isRepaired = full?.isClean === true && full.snapshotAt > withErrors.snapshotAt;
  return isRepaired ? any : withErrors;
}

/** Three requests, each of one row. */
export async function readLedgerCondition(
  { admin }: Millrace,
  signal: AbortSignal,
): Promise<AuditReport | null> {
  const newest = async (filter: { clean?: 'false'; kind?: 'full' }): Promise<AuditReport | null> =>
    (await admin.auditReports.list({ ...filter, limit: 1 }, { signal })).items[0] ?? null;
  const [any, withErrors, full] = await Promise.all([
    newest({}),
    newest({ clean: 'false' }),
    newest({ kind: 'full' }),
  ]);
  return ledgerCondition({ any, withErrors, full });
}
