import { systemClock } from '@millrace/platform/clock';
import { createDb, type Db, type Tx } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createTestDatabase, testLog, type TestDatabase } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findingsOf, type AuditReport } from './audit-report.ts';
import { computeReport, runAudit } from '../auditor.service.ts';
import { auditChecks, type CheckName } from './checks.ts';
import { seedCharges } from '../charges.fixture.ts';
import { seedInvoice } from '../invoices.fixture.ts';
import { seedSupplierMoney } from '../suppliers.fixture.ts';
import { seedAuditedLedger } from '../audited-ledger.fixture.ts';
import type { AuditCase, SeededLedger } from '../audit-case.fixture.ts';
import { causeCases } from '../causes-cases.fixture.ts';
import { invoiceCases } from '../invoices-cases.fixture.ts';
import { ledgerCases } from '../ledger-cases.fixture.ts';
import { resourceCases } from '../resources-cases.fixture.ts';

let database: TestDatabase;

/** With the rights of the database owner: the audit must find changes that no process could make. */
let owner: Db;

let harness: SeededLedger;

beforeAll(async () => {
  database = await createTestDatabase({ statementTimeoutMs: 60_000 });
  owner = createDb({
    url: database.url,
    poolSize: 2,
    role: null,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: testLog(),
  });
  const ledger = await seedAuditedLedger(database.db);
  const supplied = await seedSupplierMoney(database, ledger.orgId);
  const causes = await seedCharges(database, ledger.orgId);
  harness = { ...ledger, ...supplied, ...causes, ...(await seedInvoice(database)) };
});

afterAll(async () => {
  await owner.close();
  await database.drop();
});

class Undo extends Error {}

/** Changes rows directly, audits and rolls back, so that the ledger is correct again for the next case. */
async function auditAfter(statements: AuditCase['alter']): Promise<AuditReport> {
  let report: AuditReport | undefined;
  const alter = async (tx: Tx): Promise<void> => {
    await sql`set local session_replication_role = replica`.execute(tx.kysely);
    for (const statement of statements(harness)) await sql.raw(statement).execute(tx.kysely);
    report = await computeReport(tx, { kind: 'full' });
    throw new Undo();
  };
  await owner.transaction({ name: 'spoil', isolation: 'repeatable read' }, alter).catch((error: unknown) => {
    if (!(error instanceof Undo)) throw error;
  });
  return report ?? expect.fail('nothing was audited');
}

const allCases: readonly AuditCase[] = [...ledgerCases, ...causeCases, ...invoiceCases, ...resourceCases];

describe('the auditor', () => {
  it.each(allCases)('reports $what', async ({ alter, names }) => {
    const report = await auditAfter(alter);
    const found = findingsOf(report, 'error').map(({ check, subject }) => `${check} ${subject.id}`);
    expect(found.toSorted()).toEqual(
      names(harness)
        .map(([check, id]) => `${check} ${id}`)
        .toSorted(),
    );
  });

  it('has a test case for every check that can find drift', () => {
    const tried = new Set(allCases.flatMap(({ names }) => names(harness)).map(([name]) => name));
    const drift = Object.entries(auditChecks).filter(([, { severity }]) => severity === 'error');
    expect(drift.map(([name]) => name).filter((name) => !tried.has(name as CheckName))).toEqual([]);
  });
});

describe('a correct ledger', () => {
  it('has no findings in a full, incremental or organisation audit', async () => {
    const full = await runAudit(database.db, { kind: 'full' });
    const next = await runAudit(database.db, { kind: 'incremental' });
    const own = await runAudit(database.db, { kind: 'organisation', orgId: harness.orgId });
    for (const report of [full, next, own]) {
      expect(report && findingsOf(report, 'error')).toEqual([]);
    }
    expect([full?.kind, next?.kind, own?.kind]).toEqual(['full', 'incremental', 'organisation']);
    expect(next?.since).toEqual(full?.snapshotAt);
  });
});
