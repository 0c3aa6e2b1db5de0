import { createDb } from '@millrace/platform/db';
import { createIdSource, toUuid, type OrgId } from '@millrace/platform/ids';
import { systemClock } from '@millrace/platform/clock';
import { nanoUsd } from '@millrace/platform/money';
import { createOrganisation, createRandom, createTestDatabase, testClock, testLog } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import type { LedgerCommand } from '../ledger/index.ts';
import { findingsOf, type AuditReport } from './checks/audit-report.ts';
import { auditWhenDue, type AuditorOptions } from './auditor.job.ts';
import { computeReport, runAudit } from './auditor.service.ts';
import { AUDIT_LOCK } from './runs.store.ts';
import { apply, charge, grant, hold, holdOf, post, usd } from './audited-ledger.fixture.ts';

const database = await createTestDatabase({ statementTimeoutMs: 60_000, poolSize: 12 });
const db = database.db;
afterAll(() => database.drop());

async function asOwner(text: string): Promise<void> {
  await database.query(text);
}

const audit = async (kind: 'full' | 'incremental'): Promise<AuditReport> =>
  (await runAudit(db, { kind })) ?? expect.fail('another audit was running');

const errorsOf = (report: AuditReport): readonly string[] =>
  findingsOf(report, 'error').map(({ check, subject }) => `${check} ${subject.id}`);

const lookedAt = (report: AuditReport, check: string): number =>
  report.outcomes.find((outcome) => outcome.check === check)?.lookedAt ?? -1;

async function funded(amount = 100): Promise<OrgId> {
  const orgId = await createOrganisation(db);
  await apply(db, grant(orgId, usd(amount)));
  return orgId;
}

describe('an audit with concurrent writers', () => {
  it('sees no partial change, in a full or incremental audit', async () => {
    const orgs = await Promise.all([1, 2, 3].map(() => funded(1_000)));
    let writing = true;
    let written = 0;
    const write = async (seed: number): Promise<void> => {
      const random = createRandom(seed);
      while (writing) {
        const orgId = orgs[random.int(0, orgs.length - 1)] ?? expect.fail('no organisation');
        const [held] = await apply(db, hold(orgId, usd(2)), charge(orgId, nanoUsd(1n)), grant(orgId, usd(3)));
        await apply(db, post(orgId, holdOf(held), usd(1), random.int(0, 1) === 0 ? 'keep' : 'close'));
        written += 1;
      }
    };
    const writers = [1, 2, 3, 4].map(write);
    const found: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      found.push(...errorsOf(await audit(round % 4 === 0 ? 'full' : 'incremental')));
    }
    writing = false;
    await Promise.all(writers);
    expect(found).toEqual([]);
    expect(written).toBeGreaterThan(10);
    expect(errorsOf(await audit('full'))).toEqual([]);
  });

  it('is the only one at a time that is recorded', async () => {
    const other = await database.connect();
    await other.query(`select pg_advisory_lock(${AUDIT_LOCK})`);
    const runs = async () => (await db.kysely.selectFrom('audit_runs').select('id').execute()).length;
    const before = await runs();
    expect(await runAudit(db, { kind: 'full' })).toBeNull();
    expect(await runAudit(db, { kind: 'full', whenBusy: 'unrecorded' })).toMatchObject({ recorded: false });
    expect(await runs()).toBe(before);
    await other.end();
  });

  it('writes nothing: every attempt to write fails and is rolled back', async () => {
    const before = await db.kysely.selectFrom('audit_marks').selectAll().orderBy('account_id').execute();
    await funded();
    await db.transaction({ name: 'look', isolation: 'repeatable read' }, (tx) =>
      computeReport(tx, { kind: 'full' }),
    );
    expect(await db.kysely.selectFrom('audit_marks').selectAll().orderBy('account_id').execute()).toEqual(
      before,
    );
  });
});

describe('an incremental audit', () => {
  it('checks rows since the last one, and no transfer older than its margin', async () => {
    const orgId = await funded();
    await audit('full');
    const none = await runAudit(db, { kind: 'incremental', marginMs: 0 });
    expect(none && lookedAt(none, 'transfer_sums_to_zero')).toBeLessThanOrEqual(1);
    await apply(db, charge(orgId, usd(1)));
    const one = await runAudit(db, { kind: 'incremental', marginMs: 0 });
    expect(one && lookedAt(one, 'transfer_sums_to_zero')).toBe(1);
    expect(one && errorsOf(one)).toEqual([]);
  });

  it('includes rows of a process whose clock is behind', async () => {
    const orgId = await funded();
    await audit('full');
    const clock = testClock(Date.now() - 60_000);
    const slow = createDb({
      url: database.url,
      poolSize: 1,
      clock,
      ids: createIdSource({ clock, cell: 2 }),
      log: testLog(),
    });
    await apply(slow, charge(orgId, usd(1)));
    await slow.close();
    expect(errorsOf(await audit('incremental'))).toEqual([]);
    expect(errorsOf(await audit('full'))).toEqual([]);
  });

  it('finds an entry that is missing since the checkpoint, keeps the checkpoint, and finds it again', async () => {
    const orgId = await funded();
    const { snapshotAt } = await audit('full');
    const [done] = await apply(db, charge(orgId, usd(1)));
    const transfer = toUuid(done?.transferId ?? expect.fail('no transfer'));
    const credit = `(select id from ledger_accounts where kind = 'credit' and org_id = '${toUuid(orgId)}')`;
    await asOwner(`set session_replication_role = replica;
      update ledger_entries set account_seq = account_seq + 1 where transfer_id = '${transfer}' and account_id = ${credit}`);
    for (const report of [await audit('incremental'), await audit('incremental')]) {
      expect(errorsOf(report)).toEqual([expect.stringMatching(/^account_chain lac_/)]);
      expect(findingsOf(report, 'error')[0]?.sentence).toContain(
        `of ${done?.transferId}, is in the position of entry 2`,
      );
      expect(report.since).toEqual(snapshotAt);
    }
    await asOwner(`set session_replication_role = replica;
      update ledger_entries set account_seq = account_seq - 1 where transfer_id = '${transfer}' and account_id = ${credit}`);
    expect(errorsOf(await audit('incremental'))).toEqual([]);
  });

  it('finds a balance that was changed without an entry, however old the account is', async () => {
    const orgId = await funded();
    await audit('full');
    const change = (by: string): Promise<void> =>
      asOwner(`update ledger_accounts set balance_nano_usd = balance_nano_usd ${by} 1
                where kind = 'credit' and org_id = '${toUuid(orgId)}'`);
    await change('+');
    expect(errorsOf(await audit('incremental'))).toContainEqual(
      expect.stringMatching(/^account_balance lac_/),
    );
    await change('-');
    expect(errorsOf(await audit('incremental'))).toEqual([]);
  });
});

describe('absorbed charges', () => {
  it('are listed with their cause, and are not drift', async () => {
    const orgId = await funded(1);
    const short: LedgerCommand = {
      ...charge(orgId, usd(4)),
      cause: { kind: 'rental', id: 'beyond' },
      whenShort: 'shortfall',
    };
    await apply(db, short);
    const report = (await runAudit(db, { kind: 'organisation', orgId })) ?? expect.fail('no report');
    expect(errorsOf(report)).toEqual([]);
    expect(findingsOf(report, 'notice')).toMatchObject([
      { check: 'shortfall', orgId, sentence: 'The operator absorbed 3000000000 nano-USD for rental beyond.' },
    ]);
  });

  it('are listed up to the limit, and the rest is counted', async () => {
    const orgId = await funded(1);
    const short = (): LedgerCommand => ({ ...charge(orgId, usd(4)), whenShort: 'shortfall' });
    await apply(db, short(), short(), short());
    const report = await runAudit(db, { kind: 'organisation', orgId, findingsPerCheck: 2 });
    const outcome = report?.outcomes.find(({ check }) => check === 'shortfall');
    expect(outcome).toMatchObject({ found: 3, findings: [{}, {}] });
  });
});

describe('auditWhenDue', () => {
  const logged: unknown[] = [];
  const options = (): AuditorOptions => ({
    db,
    clock: systemClock,
    log: { error: (fields: unknown) => void logged.push(fields), warn: () => {}, info: () => {} } as never,
    everyMs: 3_600_000,
    fullEveryMs: 7_200_000,
    statementTimeoutMs: 60_000,
  });

  it('audits when due, whichever worker ran the last audit, and logs each finding', async () => {
    await db.kysely.deleteFrom('audit_runs').execute();
    expect(await auditWhenDue(options())).toMatchObject({ kind: 'full' });
    expect(await auditWhenDue(options())).toBeNull();
    await asOwner(`update audit_runs set snapshot_at = snapshot_at - interval '61 minutes'`);
    expect(await auditWhenDue(options())).toMatchObject({ kind: 'incremental' });
    expect(logged).toEqual([]);
    await asOwner(`update audit_runs set snapshot_at = snapshot_at - interval '2 hours';
      update ledger_accounts set balance_nano_usd = 1 where id = (select max(id::text)::uuid from ledger_accounts)`);
    expect(await auditWhenDue(options())).toMatchObject({ kind: 'full' });
    expect(logged).toContainEqual({ finding: expect.objectContaining({ check: 'account_balance' }) });
  });
});
