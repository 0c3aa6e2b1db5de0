import { findingsOf, runAudit, type CheckName } from '@millrace/core/auditor';
import type { Db } from '@millrace/platform/db';
import type { TestDatabase } from '@millrace/testing';

/**
 * How the books of a stack are judged at its end. `clean`: the auditor must find nothing. `planted`: there is no audit, because
 * the test itself writes rows that the auditor would report, or judges the books itself.
 */
export type LedgerAuditMode = 'clean' | 'planted';

/** Proofs and benchmarks open the same stacks, stop them at any moment, and judge the books themselves. */
export const defaultLedgerAuditMode: LedgerAuditMode =
  process.env['VITEST'] === undefined ? 'planted' : 'clean';

/** Audits everything once, and throws if the auditor finds anything; `except` lists checks that the test itself breaks. */
export async function auditLedger(
  db: Db,
  { except = [] }: { readonly except?: readonly CheckName[] } = {},
): Promise<void> {
  const report = await runAudit(db, { kind: 'full', whenBusy: 'unrecorded' });
  if (report === null) throw new Error('The books were not audited.');
  const findings = findingsOf(report, 'error').filter(({ check }) => !except.includes(check));
  if (findings.length === 0) return;
  const named = findings.map(
    ({ check, sentence, expected, actual }) => `${check}: ${sentence} Expected ${expected}, found ${actual}.`,
  );
  throw new Error(`The auditor names what is wrong in the books of this test:\n${named.join('\n')}`);
}

/** Audits the books, and drops the database even if they are wrong. Call it when no process writes any more. */
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

/** Runs all steps from the last to the first, even after one fails. Throws the first failure at the end. */
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
