import type { Reservation, ReserveRequest } from '@millrace/credit-leases/client';
import { toUuid, type BudgetId, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { changeBudget, createBudget } from '../ledger/index.ts';
import { reserveRequestOf, createLeaseHarness, limitOf, type TestGateway } from './leases.fixture.ts';

const harness = await createLeaseHarness();
afterAll(() => harness[Symbol.asyncDispose]());

async function reserved(gateway: TestGateway, request: ReserveRequest): Promise<Reservation> {
  const got = await gateway.reserve(request);
  if ('refused' in got) return expect.fail(`refused: ${got.refused}`);
  await gateway.idle();
  return got;
}

async function readReserved(orgId: OrgId): Promise<number> {
  const [lease] = await harness.query('select namespace from pot_servers');
  const key = `pot:${String(lease?.['namespace'])}:{${orgId}}:live`;
  return Number((await harness.valkey.client.command(['HGET', key, 'reserved'])) ?? 0);
}

const remainingOf = ({ rate }: { rate: Reservation['rate'] }): number[] =>
  rate.policies.map(({ remaining }) => remaining);

function budgetOf(orgId: OrgId, limit: bigint, isOfAll = false): Promise<BudgetId> {
  return harness.db.transaction({ name: 'budget', isolation: 'read committed' }, async (tx) => {
    const keyIds = isOfAll ? null : [tx.ids.next('key')];
    const { id } = await createBudget(tx, {
      ...{ orgId, mode: 'live', name: 'small', keyIds, period: 'month', limit: nanoUsd(limit) },
      ...{ thresholdsPercent: [], onExceeded: 'stop_new_work' },
    });
    return id;
  });
}

describe('rate limits and money', () => {
  it('are taken both or neither, and every result reports the remaining limits', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    const limits = [limitOf('requests', orgId, 5), limitOf('tokens', orgId, 100)];
    const request = (amount: bigint, tokens = 10) => ({ ...reserveRequestOf(orgId, amount), limits, tokens });
    // A request without enough money, with or without a lease, counts as a request and as no tokens.
    const none = await gateway.reserve(request(101n));
    expect(none).toMatchObject({ refused: 'INSUFFICIENT_BALANCE', rate: { allowed: true } });
    expect(remainingOf(none)).toEqual([4, 100]);
    const first = await reserved(gateway, request(30n));
    expect(remainingOf(first)).toEqual([3, 90]);
    const dry = await gateway.reserve(request(80n));
    expect(dry).toMatchObject({ refused: 'INSUFFICIENT_BALANCE', rate: { allowed: true } });
    expect(remainingOf(dry)).toEqual([2, 90]);
    // A request above the token limit changes neither the money nor the other limit.
    const limited = await gateway.reserve(request(30n, 91));
    expect(limited).toMatchObject({
      refused: 'RATE_LIMITED',
      rate: { allowed: false, refusedBy: { policy: limits[1] } },
    });
    expect(await readReserved(orgId)).toBe(30);
    await reserved(gateway, request(30n));
    await reserved(gateway, request(30n));
    expect(await gateway.reserve(request(1n))).toMatchObject({
      refused: 'RATE_LIMITED',
      rate: { refusedBy: { policy: limits[0], remaining: 0 } },
    });
    expect(await readReserved(orgId)).toBe(90);
  });

  it('keep an organisation without money from asking the ledger without limit', async () => {
    const orgId = await harness.organisation(0n);
    const gateway = harness.gateway();
    const limits = [limitOf('requests', orgId, 4)];
    const outcomes: unknown[] = [];
    for (let nth = 0; nth < 10; nth += 1) {
      const got = await gateway.reserve({ ...reserveRequestOf(orgId, 1n), limits });
      outcomes.push('refused' in got ? got.refused : 'admitted');
    }
    expect(outcomes).toEqual([
      ...Array.from({ length: 4 }, () => 'INSUFFICIENT_BALANCE'),
      ...Array.from({ length: 6 }, () => 'RATE_LIMITED'),
    ]);
    expect(gateway.requests()).toBe(4);
  });

  it('are counted once across concurrent gateways', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateways = [harness.gateway(), harness.gateway()] as const;
    const limits = [limitOf('requests', orgId, 20)];
    const responses = await Promise.all(
      Array.from({ length: 60 }, (_, nth) =>
        gateways[nth % 2 === 0 ? 0 : 1].reserve({ ...reserveRequestOf(orgId, 10n), limits }),
      ),
    );
    expect(responses.filter((got) => 'leaseId' in got)).toHaveLength(20);
    expect(await readReserved(orgId)).toBe(200);
  });

  it('are not counted while Valkey is unreachable, and no request is admitted', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    const request = { ...reserveRequestOf(orgId, 1n), limits: [limitOf('requests', orgId, 5)] };
    await reserved(gateway, request);
    harness.cutGateways(true);
    const expected = { refused: 'LEDGER_UNAVAILABLE', rate: { degraded: true, allowed: true } };
    expect(await gateway.reserve({ ...request, requestId: testIds.next('req') })).toMatchObject(expected);
    harness.cutGateways(false);
  });

  it('reject an invalid limit before any call', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    const limit = limitOf('tokens', orgId, 10);
    for (const wrong of [
      { limits: [limit, limit] },
      { limits: [{ ...limit, limit: 0 }] },
      { limits: [limit], tokens: -1 },
      { limits: [limit], tokens: 2 ** 53 },
    ]) {
      await expect(gateway.reserve({ ...reserveRequestOf(orgId, 1n), ...wrong })).rejects.toThrow(RangeError);
    }
    expect(gateway.requests()).toBe(0);
  });
});

describe('settle', () => {
  it('returns unused tokens once', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    const limits = [limitOf('tokens', orgId, 100), limitOf('requests', orgId, 10)];
    const request = (tokens: number) => ({ ...reserveRequestOf(orgId, 10n), limits, tokens });
    const first = await reserved(gateway, request(90));
    expect(await gateway.reserve(request(50))).toMatchObject({ refused: 'RATE_LIMITED' });
    await gateway.settle(first, 1n, 40);
    await gateway.settle(first, 1n, 0);
    const next = await reserved(gateway, request(50));
    expect(remainingOf(next)).toEqual([10, 8]);
    await gateway.settle(next, 1n);
    expect(remainingOf(await reserved(gateway, request(1)))).toEqual([9, 7]);
  });

  it('sends simultaneous settlements in one Valkey call, in any order', async () => {
    const orgId = await harness.organisation(10_000n);
    const gateway = harness.gateway();
    const all = await Promise.all(
      Array.from({ length: 150 }, () => gateway.reserve(reserveRequestOf(orgId, 20n))),
    );
    const admitted = all.flatMap((got) => ('refused' in got ? [] : [got]));
    await gateway.idle();
    const calls = async (): Promise<number> => {
      const info = String(await harness.valkey.client.command(['INFO', 'commandstats']));
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1]);
    };
    const before = await calls();
    await Promise.all(admitted.map((got, nth) => gateway.settle(got, BigInt(nth % 21))));
    expect((await calls()) - before).toBe(2);
    expect([admitted.length, await readReserved(orgId)]).toEqual([150, 0]);
  });
});

describe('a request that can be reduced', () => {
  it('gets its full amount while there is enough, and is reduced only after the ledger was asked', async () => {
    const orgId = await harness.organisation(100_000n);
    const gateway = harness.gateway();
    expect(await reserved(gateway, { ...reserveRequestOf(orgId, 50n), least: 1n })).toMatchObject({
      amount: 50n,
    });
    // Far more than the lease has: the ledger grants it.
    const large = await reserved(gateway, { ...reserveRequestOf(orgId, 20_000n), least: 1n });
    expect(large).toMatchObject({ amount: 20_000n });
  });

  it('gets the available amount, at least its minimum, and is charged no more than that', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    const elastic = () => ({ ...reserveRequestOf(orgId, 1_000n), least: 10n });
    const first = await reserved(gateway, elastic());
    expect(first.amount).toBeGreaterThanOrEqual(10n);
    expect(first.amount).toBeLessThanOrEqual(100n);
    await gateway.use(first, 1_000n);
    await harness.stream.sink();
    expect((await harness.balance(orgId)).balance).toBe(100n - first.amount);
    let rest = 100n - first.amount;
    for (;;) {
      await gateway.clock.advance(1_001);
      const got = await gateway.reserve(elastic());
      if ('refused' in got) {
        expect(got.refused).toBe('INSUFFICIENT_BALANCE');
        break;
      }
      rest -= got.amount;
    }
    expect(rest).toBeGreaterThanOrEqual(0n);
    expect(rest).toBeLessThan(10n);
  });

  it('is admitted with the remaining credit while the ledger is unreachable', async () => {
    const orgId = await harness.organisation(1_000n);
    let away = false;
    const gateway = harness.gateway({
      ledger: (request) => (away ? Promise.reject(new Error('no answer')) : harness.service.lease(request)),
    });
    await reserved(gateway, reserveRequestOf(orgId, 10n));
    away = true;
    const got = await gateway.reserve({ ...reserveRequestOf(orgId, 5_000n), least: 20n });
    expect(got).toMatchObject({ amount: 90n });
    const none = await gateway.reserve({ ...reserveRequestOf(orgId, 5_000n), least: 20n });
    expect(none).toMatchObject({ refused: 'LEDGER_UNAVAILABLE' });
  });

  it('stays within its budgets too', async () => {
    const orgId = await harness.organisation(10_000n);
    const gateway = harness.gateway();
    const budgets = [await budgetOf(orgId, 70n)];
    const got = await reserved(gateway, { ...reserveRequestOf(orgId, 1_000n), least: 20n, budgets });
    expect(got.amount).toBe(70n);
    expect(await gateway.reserve({ ...reserveRequestOf(orgId, 1_000n), least: 20n, budgets })).toMatchObject({
      refused: 'BUDGET_EXCEEDED',
    });
    expect(await reserved(gateway, { ...reserveRequestOf(orgId, 1_000n), least: 20n })).toMatchObject({
      amount: 1_000n,
    });
  });
});

describe('budgets', () => {
  it('of the organisation are held by its lease: all of a budget can be spent, and no more', async () => {
    const orgId = await harness.organisation(10_000n);
    const gateway = harness.gateway();
    const id = await budgetOf(orgId, 150n, true);
    const first = await reserved(gateway, reserveRequestOf(orgId, 90n));
    const second = await reserved(gateway, reserveRequestOf(orgId, 60n));
    expect(await gateway.reserve(reserveRequestOf(orgId, 1n))).toMatchObject({ refused: 'BUDGET_EXCEEDED' });
    await gateway.use(first, 90n);
    await gateway.use(second, 60n);
    await harness.stream.sink();
    const [account] = await harness.query(`select balance_nano_usd::int as rest, held_nano_usd::int as held
      from ledger_accounts where id = '${toUuid(id)}'`);
    expect(account).toEqual({ rest: 0, held: 0 });
  });

  it('of the organisation that are created after a grant apply from the next lease request', async () => {
    const orgId = await harness.organisation(10_000n);
    const gateway = harness.gateway();
    await reserved(gateway, reserveRequestOf(orgId, 1_000n));
    expect((await harness.balance(orgId)).held).toBeGreaterThan(2_000n);
    await budgetOf(orgId, 150n, true);
    await gateway.clock.advance(30_000);
    await gateway.maintain();
    expect(await gateway.reserve(reserveRequestOf(orgId, 151n))).not.toHaveProperty('leaseId');
    await reserved(gateway, reserveRequestOf(orgId, 100n));
    await reserved(gateway, reserveRequestOf(orgId, 50n));
    expect(await gateway.reserve(reserveRequestOf(orgId, 1n))).not.toHaveProperty('leaseId');
  });

  it('apply at once if the lease is recalled when they are created', async () => {
    const orgId = await harness.organisation(10_000n);
    const gateway = harness.gateway();
    const underWay = await reserved(gateway, reserveRequestOf(orgId, 1_000n));
    await budgetOf(orgId, 150n, true);
    await harness.service.recallFor({ orgId, mode: 'live', amount: 'all' });
    // Credit that a request in flight returns later is not spent beyond the budget either.
    await gateway.use(underWay, 0n);
    expect(await gateway.reserve(reserveRequestOf(orgId, 151n))).not.toHaveProperty('leaseId');
    await reserved(gateway, reserveRequestOf(orgId, 150n));
    expect(await gateway.reserve(reserveRequestOf(orgId, 1n))).not.toHaveProperty('leaseId');
  });

  it('that are lowered below their grant apply from the next lease request', async () => {
    const orgId = await harness.organisation(10_000n);
    const gateway = harness.gateway();
    const id = await budgetOf(orgId, 1_000n);
    const request = (amount: bigint) => ({ ...reserveRequestOf(orgId, amount), budgets: [id] });
    await reserved(gateway, { ...request(900n), least: 100n });
    await gateway.use(await reserved(gateway, request(100n)), 0n);
    await harness.db.transaction({ name: 'lower', isolation: 'read committed' }, (tx) =>
      changeBudget(tx, orgId, 'live', id, { limit: nanoUsd(950n) }),
    );
    await gateway.clock.advance(30_000);
    await gateway.maintain();
    expect(await gateway.reserve(request(51n))).not.toHaveProperty('leaseId');
    expect(await gateway.reserve(request(50n))).toMatchObject({ amount: 50n });
  });

  it('that a lost lease will return are not exceeded: the request gets 503', async () => {
    await using own = await createLeaseHarness();
    const orgId = await own.organisation(10_000n);
    const { id } = await own.db.transaction({ name: 'budget', isolation: 'read committed' }, (tx) =>
      createBudget(tx, {
        ...{ orgId, mode: 'live', name: 'small', keyIds: [tx.ids.next('key')], period: 'month' },
        ...{ limit: nanoUsd(100n), thresholdsPercent: [], onExceeded: 'stop_new_work' },
      }),
    );
    const gateway = own.gateway();
    const next = () => ({ ...reserveRequestOf(orgId, 60n), budgets: [id] });
    await reserved(gateway, next());
    await own.valkey.client.command(['FLUSHALL']);
    expect(await gateway.reserve(next())).toMatchObject({ refused: 'LEDGER_UNAVAILABLE' });
    expect(await gateway.reserve({ ...next(), amount: 101n })).toMatchObject({ refused: 'BUDGET_EXCEEDED' });
  });
});
