import type { Reservation } from '@millrace/credit-leases/client';
import { valkeyLeaseKey } from '@millrace/credit-leases/protocol';
import { systemClock } from '@millrace/platform/clock';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { testLog } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { reserveRequestOf, createLeaseHarness, testRules, type TestGateway } from '../leases.fixture.ts';
import { createCreditLeaseService } from './leases.service.ts';
import { startClosingAllLeases, listUnrecordedLeases, stopAdmission } from './leases-after-restore.ts';
import { findOpenLease, readServer } from './leases.store.ts';

/** Restores the database rows to an earlier state while Valkey keeps the later leases. */

const harness = await createLeaseHarness();
afterAll(() => harness[Symbol.asyncDispose]());

const moneyTables = `select tablename as name from pg_tables where schemaname = 'public' and tablename ~ '^(pot|ledger)'`;

/** Copies all rows about money. Returns a function that restores them. */
async function saveRows(): Promise<() => Promise<void>> {
  const tables = (await harness.query(moneyTables)).map(({ name }) => String(name));
  await harness.query(
    ['drop schema if exists saved cascade', 'create schema saved']
      .concat(tables.map((name) => `create table saved."${name}" as table public."${name}"`))
      .join('; '),
  );
  return async () => {
    const steps = tables.flatMap((name) => [
      `delete from public."${name}"`,
      `insert into public."${name}" overriding system value select * from saved."${name}"`,
    ]);
    await harness.query(
      ['begin', 'set local session_replication_role = replica', ...steps, 'commit'].join('; '),
    );
  };
}

/** Retries while a worker is busy. */
async function reserved(gateway: TestGateway, orgId: OrgId, amount: bigint): Promise<Reservation> {
  for (let nth = 0; nth < 10; nth += 1) {
    const got = await gateway.reserve(reserveRequestOf(orgId, amount));
    // Background refills would change the amounts that a test compares.
    await gateway.idle();
    if (!('refused' in got)) return got;
  }
  return expect.fail('refused ten times');
}

const inLedger = async (orgId: OrgId) =>
  (
    await harness.query(`select epoch::float as epoch, granted_nano_usd::int as granted from pot_leases
                        where org_id = '${toUuid(orgId)}' and state = 'open'`)
  )[0];

async function inValkey(orgId: OrgId) {
  const server = (await readServer(harness.db, 1)) ?? expect.fail('no server');
  const fields = await harness.valkey.client.command([
    ...['HMGET', valkeyLeaseKey(server, { orgId, mode: 'live' }), 'epoch', 'granted'],
  ]);
  const [epoch, granted] = fields as [string, string];
  return { epoch: Number(epoch), granted: Number(granted) };
}

describe('a ledger that was restored to an earlier point', () => {
  it('never opens a lease on the credit of a lost lease, even if the epoch repeats', async () => {
    const orgId = await harness.organisation(20_000n);
    await reserved(harness.gateway(), orgId, 100n);
    await harness.valkey.client.command(['FLUSHALL'], { timeoutMs: 10_000 });
    const restore = await saveRows();
    // Two leases that the restored ledger does not have: epochs 2 and 3, each larger than the later grants.
    await reserved(harness.gateway(), orgId, 1_000n);
    await harness.service.retire((await openLease(orgId)) ?? expect.fail('no lease'));
    await reserved(harness.gateway(), orgId, 2_000n);
    await restore();
    for (let nth = 0; nth < 4; nth += 1) {
      await reserved(harness.gateway(), orgId, 50n);
      expect(await inValkey(orgId)).toEqual(await inLedger(orgId));
      await harness.service.retire((await openLease(orgId)) ?? expect.fail('no lease'));
    }
  });

  it('closes a lease with a larger grant in Valkey than in the ledger', async () => {
    const orgId = await harness.organisation(20_000n);
    const gateway = harness.gateway();
    await gateway.use(await reserved(gateway, orgId, 100n), 100n);
    const restore = await saveRows();
    await gateway.use(await reserved(gateway, orgId, 9_000n), 8_000n);
    await restore();
    await reserved(harness.gateway(), orgId, 50n);
    expect(await inValkey(orgId)).toEqual(await inLedger(orgId));
  });
});

describe('leases after a restore', () => {
  const isListed = async (orgId: OrgId) =>
    (await listUnrecordedLeases(harness.db, harness.valkey.client, 1)).some((lease) => lease.orgId === orgId);

  it('are listed if the ledger does not have them, and cannot be spent after stopAdmission', async () => {
    const orgId = await harness.organisation(20_000n);
    const restore = await saveRows();
    const gateway = harness.gateway();
    await reserved(gateway, orgId, 1_000n);
    expect(await isListed(orgId)).toBe(false);
    await restore();
    expect(await isListed(orgId)).toBe(true);
    expect(await stopAdmission(harness.db, harness.valkey.client, 1)).toBeGreaterThan(0);
    const blocked = harness.gateway({
      ledger: async () => ({ outcome: 'refused', reason: 'busy', endThrough: 0n }),
    });
    expect(await blocked.reserve(reserveRequestOf(orgId, 1n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
  });

  it('end on confirmation, and the next lease gets an epoch above the floor, also in a new series', async () => {
    const orgId = await harness.organisation(20_000n);
    await reserved(harness.gateway(), orgId, 1_000n);
    await startClosingAllLeases(harness.db, { cell: 1, epochFloor: 2n ** 32n, rules: testRules });
    expect(await inLedger(orgId)).toBeUndefined();
    const other = await harness.organisation(20_000n);
    for (const each of [orgId, other]) {
      await reserved(harness.gateway(), each, 100n);
      expect(await inValkey(each)).toMatchObject({ epoch: 2 ** 32 + 1 });
    }
  });

  it('are not opened or enlarged before the restore is confirmed', async () => {
    const orgId = await harness.organisation(20_000n);
    const service = createCreditLeaseService({
      ...{
        db: harness.db,
        valkey: harness.valkey.client,
        cell: 1,
        clock: systemClock,
        log: testLog(),
        rules: testRules,
      },
      mayGrant: async () => false,
    });
    const gateway = harness.gateway({ ledger: service.lease });
    expect(await gateway.reserve(reserveRequestOf(orgId, 1n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    expect(await inLedger(orgId)).toBeUndefined();
  });
});

function openLease(orgId: OrgId) {
  return findOpenLease(harness.db, { orgId, mode: 'live', cell: 1 });
}
