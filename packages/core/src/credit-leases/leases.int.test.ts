import type { Reservation } from '@millrace/credit-leases/client';
import type { OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { toUuid } from '@millrace/platform/ids';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createBudget } from '../ledger/index.ts';
import {
  reserveRequestOf,
  createLeaseHarness,
  limitOf,
  nextRequestId,
  usageOf,
  type TestGateway,
} from './leases.fixture.ts';

const harness = await createLeaseHarness();
afterAll(() => harness[Symbol.asyncDispose]());
beforeEach(() => harness.clock.reset());

async function reserved(gateway: TestGateway, orgId: OrgId, amount: bigint): Promise<Reservation> {
  const got = await gateway.reserve(reserveRequestOf(orgId, amount));
  if ('refused' in got) return expect.fail(`refused: ${got.refused}`);
  // A reservation that leaves little credit triggers a refill in the background, which belongs to the asserted state.
  await gateway.idle();
  return got;
}

const leases = (orgId: OrgId) =>
  harness.query(
    `select epoch::int, state, granted_nano_usd::int as granted, recalled_nano_usd::int as recalled,
            settled_nano_usd::int as settled
       from pot_leases where org_id = '${toUuid(orgId)}' order by epoch`,
  );

/** Ends the gateway, processes its usage and closes its leases. */
async function wind(gateway: TestGateway): Promise<void> {
  await gateway.close();
  harness.clock.advance(61_000);
  await harness.sweeps.callIn();
  await harness.stream.sink();
  await harness.sweeps.closePassed();
}

describe('a credit lease', () => {
  it('is granted, spent, charged exactly and closed, and the rest is released', async () => {
    const gateway = harness.gateway();
    const orgId = await harness.organisation(1_000n);
    const one = await reserved(gateway, orgId, 40n);
    expect(await harness.balance(orgId)).toEqual({ balance: 1_000n, held: 100n, available: 900n });
    const two = await reserved(gateway, orgId, 60n);
    await gateway.use(one, 25n);
    await gateway.use(two, 60n);
    await harness.stream.sink();
    expect((await harness.balance(orgId)).balance).toBe(915n);
    await wind(gateway);
    expect(await harness.balance(orgId)).toEqual({ balance: 915n, held: 0n, available: 915n });
    expect((await leases(orgId)).map(({ state }) => state)).toEqual(['closed']);
  });

  it('never admits more than the balance for concurrent gateways', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateways = Array.from({ length: 4 }, () => harness.gateway());
    const responses = await Promise.all(
      Array.from({ length: 120 }, async (_, nth) => {
        const gateway = gateways[nth % 4] ?? expect.fail('no gateway');
        const got = await gateway.reserve(reserveRequestOf(orgId, 13n));
        if (!('refused' in got)) await gateway.use(got, 13n);
        return got;
      }),
    );
    const admitted = responses.filter((got) => !('refused' in got)).length;
    expect(admitted).toBeLessThanOrEqual(76);
    expect(admitted).toBeGreaterThanOrEqual(60);
    await harness.stream.sink();
    expect(await harness.balance(orgId)).toMatchObject({ balance: 1_000n - 13n * BigInt(admitted) });
    expect(
      await harness.query(`select * from ledger_entries e join ledger_accounts a on a.id = e.account_id
      where a.kind = 'shortfall'`),
    ).toEqual([]);
    for (const gateway of gateways) await wind(gateway);
    expect((await harness.balance(orgId)).held).toBe(0n);
  });

  it('returns 402 if the ledger reports no money, and 503 if the ledger does not respond', async () => {
    const orgId = await harness.organisation(50n);
    let away = false;
    const gateway = harness.gateway({
      ledger: (request) => (away ? Promise.reject(new Error('no answer')) : harness.service.lease(request)),
    });
    await reserved(gateway, orgId, 10n);
    expect(await gateway.reserve(reserveRequestOf(orgId, 45n))).toMatchObject({
      refused: 'INSUFFICIENT_BALANCE',
    });
    away = true;
    expect(await gateway.reserve(reserveRequestOf(orgId, 45n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    // The remaining credit is spent without the ledger.
    await reserved(gateway, orgId, 15n);
    const outsider = await harness.organisation(1_000n);
    expect(await gateway.reserve(reserveRequestOf(outsider, 1n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
  });

  it('does not apply the refusal of a larger request to a smaller one', async () => {
    const orgId = await harness.organisation(50n);
    const gateway = harness.gateway();
    const [large, small, larger] = await Promise.all([
      gateway.reserve(reserveRequestOf(orgId, 1_000n)),
      gateway.reserve(reserveRequestOf(orgId, 10n)),
      gateway.reserve(reserveRequestOf(orgId, 2_000n)),
    ]);
    expect(large).toMatchObject({ refused: 'INSUFFICIENT_BALANCE' });
    expect(small).toMatchObject({ amount: 10n });
    expect(larger).toMatchObject({ refused: 'INSUFFICIENT_BALANCE' });
    expect(gateway.requests()).toBe(2);
  });

  it('rejects amounts that would enlarge it', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    const got = await reserved(gateway, orgId, 10n);
    await expect(gateway.reserve(reserveRequestOf(orgId, -1_000n))).rejects.toThrow(RangeError);
    await expect(gateway.settle(got, -1_000n)).rejects.toThrow(RangeError);
    await expect(gateway.settle(got, 2n ** 53n)).rejects.toThrow(RangeError);
    await gateway.settle(got, 10n);
    expect(await gateway.reserve(reserveRequestOf(orgId, 91n))).toMatchObject({
      refused: 'INSUFFICIENT_BALANCE',
    });
  });

  it('is not deleted by a gateway at the moment when a request arrives', async () => {
    for (let steps = 0; steps < 16; steps += 1) {
      const orgId = await harness.organisation(100n);
      const gateway = harness.gateway();
      await gateway.use(await reserved(gateway, orgId, 10n), 10n);
      await gateway.clock.advance(26_000);
      await gateway.maintain();
      await gateway.clock.advance(51_000);
      const tending = gateway.maintain();
      for (let step = 0; step < steps; step += 1) await Promise.resolve();
      const got = await reserved(gateway, orgId, 10n);
      await tending;
      await gateway.use(got, 10n);
      const [lease] = await harness.query(`select lease.epoch::int, server.namespace
        from pot_leases lease, pot_servers server where lease.org_id = '${toUuid(orgId)}' and lease.state = 'open'`);
      const key = `pot:${String(lease?.['namespace'])}:{${orgId}}:live`;
      expect(await harness.valkey.client.command(['HGET', key, 'reserved']), `after ${steps} steps`).toBe(
        '0',
      );
    }
  });

  it('admits nothing after it expires, and is renewed only while it is used', async () => {
    const orgId = await harness.organisation(1_000n);
    let away = false;
    const gateway = harness.gateway({
      ledger: (request) => (away ? Promise.reject(new Error('no answer')) : harness.service.lease(request)),
    });
    const first = await reserved(gateway, orgId, 10n);
    await gateway.clock.advance(26_000);
    await gateway.maintain();
    expect(gateway.requests()).toBe(2);
    await gateway.use(first, 10n);
    away = true;
    await gateway.clock.advance(49_000);
    await reserved(gateway, orgId, 1n);
    await gateway.clock.advance(1_500);
    expect(await gateway.reserve(reserveRequestOf(orgId, 1n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
  });

  it('requests more before it is used up, one request at a time', async () => {
    const orgId = await harness.organisation(10_000n);
    const gateway = harness.gateway();
    for (let nth = 0; nth < 30; nth += 1) {
      const one = await reserved(gateway, orgId, 20n);
      await gateway.use(one, 20n);
      await gateway.clock.advance(1_000);
    }
    expect(gateway.requests()).toBeLessThan(15);
    await Promise.all(Array.from({ length: 50 }, () => reserved(gateway, orgId, 100n)));
    expect(gateway.requests()).toBeLessThan(30);
  });

  it('is not needed in test mode, which only counts limits and continues without Valkey', async () => {
    const orgId = await harness.organisation(0n);
    const gateway = harness.gateway();
    const limits = [limitOf('tokens', orgId, 10)];
    const newRequest = () => ({
      ...reserveRequestOf(orgId, 1_000n),
      mode: 'test' as const,
      limits,
      tokens: 6,
    });
    const got = await gateway.reserve(newRequest());
    if ('refused' in got) return expect.fail(got.refused);
    expect(got).toMatchObject({ mode: 'test', leaseId: null, amount: 0n, rate: { degraded: false } });
    expect(await gateway.reserve(newRequest())).toMatchObject({ refused: 'RATE_LIMITED' });
    await gateway.settle(got, 0n, 1);
    expect(await gateway.reserve(newRequest())).toMatchObject({ leaseId: null });
    expect(gateway.requests()).toBe(0);
    harness.cutGateways(true);
    expect(await gateway.reserve(newRequest())).toMatchObject({ leaseId: null, rate: { degraded: true } });
    harness.cutGateways(false);
    await gateway.close();
  });

  it('rejects a frozen account, even if the lease has credit', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    await reserved(gateway, orgId, 10n);
    await harness.query(`update ledger_accounts set frozen_at = now()
      where org_id = '${toUuid(orgId)}' and kind = 'credit'`);
    expect(await harness.gateway().reserve(reserveRequestOf(orgId, 10n))).toMatchObject({
      refused: 'ACCOUNT_FROZEN',
    });
    expect(await gateway.reserve(reserveRequestOf(orgId, 10n))).toMatchObject({ refused: 'ACCOUNT_FROZEN' });
    expect(await harness.balance(orgId)).toMatchObject({ held: 10n });
  });

  it('is limited to what Lua counts exactly', async () => {
    const gateway = harness.gateway();
    const orgId = await harness.organisation(2n ** 60n);
    expect(await gateway.reserve(reserveRequestOf(orgId, 2n ** 52n + 1n))).toMatchObject({
      refused: 'INSUFFICIENT_BALANCE',
    });
    // Nor if a gateway omits the check.
    const request = { orgId, mode: 'live', cell: 1, gatewayId: 'careless', seen: null, budgets: [] } as const;
    const shortage = 2n ** 52n + 1n;
    expect(await harness.service.lease({ ...request, shortage, wanted: shortage })).toMatchObject({
      outcome: 'refused',
      reason: 'no money',
    });
    const first = await reserved(gateway, orgId, 2n ** 52n - 7n);
    await gateway.use(first, 2n ** 52n - 7n);
    const second = await reserved(gateway, orgId, 2n ** 40n + 1n);
    expect(second.epoch).toBe(first.epoch + 1n);
    await gateway.use(second, 2n ** 40n + 1n);
    await harness.stream.sink();
    expect((await harness.balance(orgId)).balance).toBe(2n ** 60n - 2n ** 52n + 7n - 2n ** 40n - 1n);
  });
});

describe('a budget grant', () => {
  const budgetOf = (orgId: OrgId, limit: bigint) =>
    harness.db.transaction({ name: 'budget', isolation: 'read committed' }, async (tx) => {
      const keyId = tx.ids.next('key');
      const budget = await createBudget(tx, {
        orgId,
        mode: 'live',
        name: 'small',
        keyIds: [keyId],
        period: 'month',
        limit: nanoUsd(limit),
        thresholdsPercent: [50],
        onExceeded: 'stop_new_work',
      });
      return { keyId, id: budget.id };
    });

  it('covers all waiting requests at once, so that a whole burst is admitted', async () => {
    const orgId = await harness.organisation(1_000_000n);
    const { id } = await budgetOf(orgId, 500_000n);
    const gateway = harness.gateway();
    const take = (amount: bigint) => gateway.reserve({ ...reserveRequestOf(orgId, amount), budgets: [id] });
    // The first grant is far too small for the following burst.
    await take(1n);
    const responses = await Promise.all(Array.from({ length: 200 }, () => take(1_000n)));
    expect(responses.filter((got) => 'refused' in got)).toEqual([]);
  });

  it('stops only its key, and is charged with the usage', async () => {
    const orgId = await harness.organisation(10_000n);
    const { id } = await budgetOf(orgId, 150n);
    const gateway = harness.gateway();
    const with_ = (amount: bigint) => ({ ...reserveRequestOf(orgId, amount), budgets: [id] });
    const first = await gateway.reserve(with_(100n));
    expect(first).toMatchObject({ epoch: 1n });
    expect(await gateway.reserve(with_(60n))).toMatchObject({ refused: 'BUDGET_EXCEEDED' });
    await reserved(gateway, orgId, 60n);
    if ('refused' in first) return;
    await gateway.use(first, 80n);
    expect(await gateway.reserve(with_(70n))).toMatchObject({ epoch: 1n });
    expect(await gateway.reserve(with_(1n))).toMatchObject({ refused: 'BUDGET_EXCEEDED' });
  });

  it('that does not cover a request reports the needed and available amounts and whether running requests hold the rest', async () => {
    const orgId = await harness.organisation(10_000n);
    const { id } = await budgetOf(orgId, 150n);
    const gateway = harness.gateway();
    const with_ = (amount: bigint) => ({ ...reserveRequestOf(orgId, amount), budgets: [id] });
    const fundsOf = async (amount: bigint) => {
      const got = await gateway.reserve(with_(amount));
      return 'refused' in got ? got.funds : expect.fail('admitted');
    };
    const nothingRuns = { of: 'budget', left: 150n, isReserved: false, resetsInMs: null };
    expect(await fundsOf(151n)).toEqual({ ...nothingRuns, needed: 151n });
    const first = await gateway.reserve(with_(100n));
    if ('refused' in first) return expect.fail(first.refused);
    const resetsInMs: unknown = expect.any(Number);
    expect(await fundsOf(60n)).toEqual({
      ...nothingRuns,
      needed: 60n,
      left: 50n,
      isReserved: true,
      resetsInMs,
    });
    expect(await fundsOf(151n)).toMatchObject({ needed: 151n, left: 50n, isReserved: false });
    await gateway.use(first, 80n);
    expect(await fundsOf(71n)).toMatchObject({ needed: 71n, left: 70n, isReserved: false });
  });

  it('makes a request wait while an ended request returns its unused amount', async () => {
    const orgId = await harness.organisation(10_000n);
    const { id } = await budgetOf(orgId, 150n);
    const gateway = harness.gateway();
    const with_ = (amount: bigint) => ({ ...reserveRequestOf(orgId, amount), budgets: [id] });
    const first = await gateway.reserve(with_(100n));
    if ('refused' in first) return expect.fail(first.refused);
    const nextSettled = async (): Promise<boolean> => {
      await gateway.use(first, 80n);
      return true;
    };
    expect(await gateway.reserve({ ...with_(60n), nextSettled })).toMatchObject({ amount: 60n });
  });

  it('counts once: the grant shrinks by each charge', async () => {
    const orgId = await harness.organisation(10_000n);
    const { id, keyId } = await budgetOf(orgId, 150n);
    const gateway = harness.gateway();
    const got = await gateway.reserve({ ...reserveRequestOf(orgId, 100n), budgets: [id] });
    if ('refused' in got) return expect.fail(got.refused);
    harness.stream.publishUsage({ ...usageOf(got, 80n), keyId });
    await gateway.settle(got, 80n);
    await harness.stream.sink();
    const limit = () =>
      harness.query(`select balance_nano_usd::int as balance, held_nano_usd::int as held
        from ledger_accounts where id = '${toUuid(id)}'`);
    expect(await limit()).toEqual([{ balance: 70, held: 20 }]);
    await wind(gateway);
    expect(await limit()).toEqual([{ balance: 70, held: 0 }]);
  });
});

describe('recall', () => {
  it('frees unreserved credit for another use, and the lease grows only by what requests need for a while', async () => {
    const orgId = await harness.organisation(200n);
    const gateway = harness.gateway();
    await reserved(gateway, orgId, 30n);
    expect(await harness.balance(orgId)).toMatchObject({ held: 100n, available: 100n });
    expect(await harness.service.recallFor({ orgId, mode: 'live', amount: 50n })).toBe(50n);
    expect(await harness.balance(orgId)).toMatchObject({ held: 50n, available: 150n });
    expect(await harness.service.recallFor({ orgId, mode: 'live', amount: 500n })).toBe(20n);
    expect(await harness.balance(orgId)).toMatchObject({ held: 30n, available: 170n });
    await reserved(gateway, orgId, 10n);
    expect(await harness.balance(orgId)).toMatchObject({ held: 40n, available: 160n });
  });

  it('frees the requested amount for each of two concurrent recalls', async () => {
    const orgId = await harness.organisation(200n);
    await reserved(harness.gateway(), orgId, 10n);
    const recall = (amount: bigint) => harness.service.recallFor({ orgId, mode: 'live', amount });
    expect(await Promise.all([recall(30n), recall(30n), recall(30n)])).toEqual([30n, 30n, 30n]);
    expect(await harness.balance(orgId)).toMatchObject({ held: 10n, available: 190n });
  });

  it('of an organisation without a lease frees nothing', async () => {
    const orgId = await harness.organisation(200n);
    expect(await harness.service.recallFor({ orgId, mode: 'live', amount: 50n })).toBe(0n);
  });
});

describe('usage', () => {
  const shortfallOf = (orgId: OrgId) =>
    harness.query(`select coalesce(-sum(e.amount_nano_usd), 0)::int as borne
      from ledger_transfers t join ledger_entries e on e.transfer_id = t.id
      join ledger_accounts a on a.id = e.account_id
     where t.org_id = '${toUuid(orgId)}' and a.kind = 'shortfall'`);

  it('is charged once if it arrives twice, and at most the reservation: the operator absorbs the rest', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    const got = await reserved(gateway, orgId, 60n);
    const other = await reserved(gateway, orgId, 20n);
    await gateway.use(got, 130n);
    await gateway.use(got, 130n);
    const posted = await harness.stream.sink();
    expect(posted.map(({ outcome }) => outcome)).toEqual(['charged', 'duplicate']);
    expect(posted[1]?.transferId).toBe(posted[0]?.transferId);
    // The reservation of the other request is unchanged, in the ledger and in Valkey.
    expect(await harness.balance(orgId)).toEqual({ balance: 40n, held: 20n, available: 20n });
    await gateway.use(other, 20n);
    await harness.stream.sink();
    expect(await harness.balance(orgId)).toMatchObject({ balance: 20n });
    expect(await leases(orgId)).toMatchObject([{ settled: 80 }]);
    expect(await shortfallOf(orgId)).toEqual([{ borne: 70 }]);
  });

  it('without a reservation is free, and more than the lease has costs the rest of the lease', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    const free = await reserved(gateway, orgId, 0n);
    harness.stream.publishUsage(usageOf(free, 30n));
    const got = await reserved(gateway, orgId, 80n);
    harness.stream.publishUsage({ ...usageOf(got, 500n), reserved: 1_000n });
    const { held } = await harness.balance(orgId);
    await harness.stream.sink();
    expect((await harness.balance(orgId)).balance).toBe(100n - held);
    expect(await shortfallOf(orgId)).toEqual([{ borne: 530 - Number(held) }]);
  });

  it('of a closed or foreign lease is recorded and never charged', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    const got = await reserved(gateway, orgId, 60n);
    await gateway.settle(got, 0n);
    await wind(gateway);
    await gateway.use(got, 60n);
    const attacker = await harness.organisation(1_000n);
    const own = await reserved(harness.gateway(), attacker, 1n);
    await gateway.use({ ...got, requestId: nextRequestId(), orgId: attacker }, 60n);
    await gateway.use({ ...own, requestId: nextRequestId(), mode: 'test' }, 60n);
    expect((await harness.stream.sink()).map(({ outcome }) => outcome)).toEqual([
      'late',
      'unknown_lease',
      'unknown_lease',
    ]);
    expect((await harness.balance(orgId)).balance).toBe(1_000n);
    expect((await harness.balance(attacker)).balance).toBe(1_000n);
  });
});
