import { createOrganisation, createTestDatabase } from '@millrace/testing';
import { nanoUsd } from '@millrace/platform/money';
import { expect, it } from 'vitest';
import { auditAndDrop, closeAll } from './ledger-audit.ts';
import { grantCredit } from './tenant.ts';

async function ledgerWithMoney() {
  const database = await createTestDatabase();
  await grantCredit(database.db, await createOrganisation(database.db), nanoUsd(5_000_000_000n));
  return database;
}

async function corrupt(database: Awaited<ReturnType<typeof ledgerWithMoney>>): Promise<void> {
  await database.query(
    `update ledger_accounts set balance_nano_usd = balance_nano_usd + 1 where org_id is not null`,
  );
}

it('auditAndDrop passes when the ledger is correct', async () => {
  await auditAndDrop(await ledgerWithMoney());
});

it('auditAndDrop fails on a balance that is wrong by one nano-USD and still drops the database', async () => {
  const database = await ledgerWithMoney();
  await corrupt(database);
  await expect(auditAndDrop(database)).rejects.toThrow('account_balance');
  await expect(database.connect()).rejects.toThrow('does not exist');
});

it('auditAndDrop skips the audit for a test that inserts wrong rows', async () => {
  const database = await ledgerWithMoney();
  await corrupt(database);
  await auditAndDrop(database, 'planted');
});

it('closeAll runs every closer after the audit fails, then throws the failure', async () => {
  const closed: string[] = [];
  const step = (name: string) => async () => void closed.push(name);
  const closing = closeAll([
    step('folder'),
    () => Promise.reject(new Error('wrong ledger')),
    step('processes'),
  ]);
  await expect(closing).rejects.toThrow('wrong ledger');
  expect(closed).toEqual(['processes', 'folder']);
});
