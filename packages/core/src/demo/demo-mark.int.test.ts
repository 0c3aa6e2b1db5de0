import { createTestDatabase, type TestDatabase } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyDemoSetting, invoiceIssuer } from './index.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const insertTransfer = () =>
  database.query(`set session_replication_role = replica;
    insert into ledger_transfers (id, org_id, mode, kind, cause_kind, cause_id, idempotency_key, description,
      amount_nano_usd, balance_after_nano_usd, occurred_at)
    values (gen_random_uuid(), gen_random_uuid(), 'live', 'grant', 'operator', 'x', 'operator:x:grant', 'x', 1, 1, now());
    set session_replication_role = origin`);

const insertStorageNode = (mode: string) =>
  database.query(`insert into storage_nodes (id, name, region, mode, kind, endpoint, settings, vip_first, vip_last, capacity_gb,
      status, status_since, next_look_at, created_at)
    values (gen_random_uuid(), 'n-${mode}', 'r', '${mode}', 'mock', 'mock:', '{}', '10.0.0.1', '10.0.0.2', 1,
      'connecting', now(), now(), now())`);

describe('applyDemoSetting', () => {
  it('marks a new database once and accepts it from then on', async () => {
    await Promise.all([applyDemoSetting(database.db, true), applyDemoSetting(database.db, true)]);
    await applyDemoSetting(database.db, true);
    expect((await database.query('select is_only from demo_mark')).rows).toHaveLength(1);
  });

  it('refuses a marked database without the setting', async () => {
    await applyDemoSetting(database.db, true);
    await expect(applyDemoSetting(database.db, false)).rejects.toThrow('belongs to a demo');
  });

  it('refuses to make a demo of a database with money in its ledger', async () => {
    await insertTransfer();
    await expect(applyDemoSetting(database.db, true)).rejects.toThrow('money in its ledger');
    await applyDemoSetting(database.db, false);
  });
});

describe('a database without the demo mark', () => {
  it('refuses mock storage for live keys and accepts it for test keys', async () => {
    await expect(insertStorageNode('live')).rejects.toThrow('only a demo sells');
    await insertStorageNode('test');
  });
});

describe('a demo database', () => {
  it('accepts mock storage for live keys', async () => {
    await applyDemoSetting(database.db, true);
    await insertStorageNode('live');
  });

  it('refuses real payments', async () => {
    await applyDemoSetting(database.db, true);
    const payment = (isReal: boolean) =>
      database.query(`set session_replication_role = origin;
        insert into payments (id, provider_live) values (gen_random_uuid(), ${String(isReal)})`);
    await expect(payment(true)).rejects.toThrow('takes no real payments');
    // Fails for its missing columns, not for its money.
    await expect(payment(false)).rejects.toThrow('null value');
  });
});

describe('invoiceIssuer', () => {
  it('says on invoices of a demo that nothing is payable', () => {
    expect(invoiceIssuer('Example Ltd\n1 Mill Road', true)).toBe(
      'Example Ltd\n1 Mill Road\nDemo: play money, nothing is payable.',
    );
    expect(invoiceIssuer('Example Ltd', false)).toBe('Example Ltd');
  });
});
