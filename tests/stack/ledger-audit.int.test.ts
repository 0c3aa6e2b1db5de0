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

it('a test with correct books ends without an error', async () => {
  await auditAndDrop(await ledgerWithMoney());
});

it('an account that is wrong by one nano-USD fails the test, and the database is still dropped', async () => {
  const database = await ledgerWithMoney();
  await corrupt(database);
  await expect(auditAndDrop(database)).rejects.toThrow('account_balance');
  await expect(database.connect()).rejects.toThrow('does not exist');
});

it('a test that plants wrong books can turn the audit off', async () => {
  const database = await ledgerWithMoney();
  await corrupt(database);
  await auditAndDrop(database, 'planted');
});

it('a stack whose audit fails still closes everything, and then fails', async () => {
  const closed: string[] = [];
  const step = (name: string) => async () => void closed.push(name);
  const closing = closeAll([
    step('folder'),
    () => Promise.reject(new Error('wrong books')),
    step('processes'),
  ]);
  await expect(closing).rejects.toThrow('wrong books');
  expect(closed).toEqual(['processes', 'folder']);
});
