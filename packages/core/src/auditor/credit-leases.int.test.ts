import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { BudgetId, LeaseId, OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import {
  createOrganisation,
  createTestDatabase,
  insertRequest,
  startValkeyServer,
  testIds,
  testLog,
  type TestDatabase,
  type TestValkey,
  TEST_START_MS,
} from '@millrace/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBudget } from '../ledger/index.ts';
import {
  createCreditLeaseService,
  postUsage,
  type CreditLeaseService,
  type UsageItem,
} from '../credit-leases/index.ts';
import { findingsOf, type Finding } from './checks/audit-report.ts';
import { runAudit } from './auditor.service.ts';
import { apply, grant } from './audited-ledger.fixture.ts';

let database: TestDatabase;
let db: Db;
let valkey: TestValkey;
let service: CreditLeaseService;
beforeAll(async () => {
  database = await createTestDatabase({ statementTimeoutMs: 60_000 });
  db = database.db;
  valkey = await startValkeyServer();
  service = createCreditLeaseService({
    db,
    valkey: valkey.client,
    cell: 1,
    clock: systemClock,
    log: testLog(),
    rules: {
      leaseMs: 60_000,
      longestRequestMs: 10_000,
      deadAfterMs: 120_000,
      outageMs: 60_000,
      least: 100n,
      sharePercent: 50,
      growthPauseMs: 5_000,
    },
  });
});
afterAll(async () => {
  await valkey[Symbol.asyncDispose]();
  await database.drop();
});

const gatewayId = 'gateway-one';
const cell = 1;

async function leaseFor(orgId: OrgId, budgetId: BudgetId): Promise<LeaseId> {
  const budgets = [{ id: budgetId, granted: 0n, shortage: 300n, wanted: 300n }];
  const request = {
    orgId,
    mode: 'live',
    cell,
    gatewayId,
    seen: null,
    shortage: 500n,
    wanted: 500n,
    budgets,
  } as const;
  const reply = await service.lease(request);
  return reply.outcome === 'leased' ? reply.leaseId : expect.fail(`no lease: ${reply.reason}`);
}

async function found(severity: 'error' | 'notice'): Promise<readonly Finding[]> {
  const reports = [await runAudit(db, { kind: 'full' }), await runAudit(db, { kind: 'incremental' })];
  return reports.flatMap((report) => findingsOf(report ?? expect.fail('no report'), severity));
}

it('runAudit finds no drift in a ledger with credit leases: granted, used, exceeded and recalled', async () => {
  const orgId = await createOrganisation(db);
  await apply(db, grant(orgId, nanoUsd(10_000n)));
  const budget = await db.transaction({ name: 'budget', isolation: 'read committed' }, (tx) =>
    createBudget(tx, {
      orgId,
      mode: 'live',
      name: 'all',
      keyIds: null,
      period: 'month',
      limit: nanoUsd(5_000n),
      thresholdsPercent: [],
      onExceeded: 'stop_everything',
    }),
  );
  const leaseId = await leaseFor(orgId, budget.id);
  const keyId = testIds.next('key');
  expect(await found('error')).toEqual([]);

  const use = (amount: bigint, product: string): UsageItem => ({
    requestId: testIds.next('req'),
    orgId,
    mode: 'live',
    keyId,
    leaseId,
    gatewayId,
    product,
    amount,
    reserved: amount,
    priced: amount,
    budgets: [budget.id],
    usedAtMs: TEST_START_MS,
    quantities: { promptTokens: 1 },
  });
  const post = (...items: readonly UsageItem[]) =>
    db.transaction({ name: 'sink', isolation: 'read committed' }, async (tx) => {
      const posted = await postUsage(tx, items);
      for (const [index, { transferId, amount: cost }] of posted.entries()) {
        const { requestId: id, reserved, ...item } = items[index] ?? expect.fail('no item');
        await insertRequest(tx, { ...item, id, keyId, cost, reserved, transferId });
      }
    });
  await post(use(10n, 'one'), use(20n, 'one'), use(30n, 'two'), use(0n, 'two'));
  expect(await found('error')).toEqual([]);

  await service.recallFor({ orgId, mode: 'live', amount: 50n });
  expect(await found('error')).toEqual([]);
  expect(await found('notice')).toEqual([]);

  // Usage beyond a reservation is absorbed by the operator, and the audit stays clean.
  await post({ ...use(40n, 'one'), reserved: 25n, priced: 60n });
  expect(await found('error')).toEqual([]);
  expect((await found('notice')).map(({ check }) => check)).not.toContain('lease_overspent');

  // Usage beyond the hold of its lease too: the requests of a lease never cost more than its grant.
  const before = (await found('notice')).filter(({ check }) => check === 'request_shortfall').length;
  await post(use(20_000n, 'one'));
  expect(await found('error')).toEqual([]);
  const notices = (await found('notice')).map(({ check }) => check);
  expect(notices.filter((check) => check === 'request_shortfall').length).toBeGreaterThan(before);
  expect(notices).not.toContain('lease_overspent');
});
