import { findingsOf, runAudit, type CheckName } from '@millrace/core/auditor';
import type { Db } from '@millrace/platform/db';
import type { TestDatabase } from '@millrace/testing';

/** `clean`: the auditor must report no findings. `planted`: no audit, because the test inserts wrong rows or checks the ledger itself. */
export type LedgerAuditMode = 'clean' | 'planted';

/** Proofs and benches stop the same stacks at any moment and check the ledger themselves. */
export const defaultLedgerAuditMode: LedgerAuditMode =
  process.env['VITEST'] === undefined ? 'planted' : 'clean';

/** Runs a full audit and throws if it has findings; `except` lists checks that the test violates deliberately. */
export async function auditLedger(
  db: Db,
  { except = [] }: { readonly except?: readonly CheckName[] } = {},
): Promise<void> {
  const report = await runAudit(db, { kind: 'full', whenBusy: 'unrecorded' });
  if (report === null) throw new Error('The ledger was not audited.');
  const findings = findingsOf(report, 'error').filter(({ check }) => !except.includes(check));
  if (findings.length === 0) return;
  const named = findings.map(
    ({ check, sentence, expected, actual }) => `${check}: ${sentence} Expected ${expected}, found ${actual}.`,
  );
  throw new Error(`The ledger audit of this test has findings:\n${named.join('\n')}`);
}

/** Audits the ledger and drops the database even if the audit fails. Call this after all writing processes have stopped. */
export async function auditAndDrop(
  database: TestDatabase,
  auditMode: LedgerAuditMode = 'clean',
): Promise<void> {
  try {
    if (auditMode === 'clean') await auditLedger(database.db);
  } finally {
    await database.drop();
  }
}

/** Runs all closers from last to first, even after a failure, then throws the first failure. */
export async function closeAll(closers: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
