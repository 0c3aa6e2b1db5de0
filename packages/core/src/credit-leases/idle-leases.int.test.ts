import type { Reservation } from '@millrace/credit-leases/client';
import type { OrgId } from '@millrace/platform/ids';
import { toUuid } from '@millrace/platform/ids';
import { afterAll, describe, expect, it } from 'vitest';
import {
  reserveRequestOf,
  createLeaseHarness,
  testRules,
  usageOf,
  type TestGateway,
  type LeaseHarness,
} from './leases.fixture.ts';

/** Leases of five minutes, so that none of them expires within a test. */
const rules = { ...testRules, leaseMs: 310_000, deadAfterMs: 620_000 };

const harness = await createLeaseHarness(rules);
afterAll(() => harness[Symbol.asyncDispose]());

async function reserve(gateway: TestGateway, orgId: OrgId, amount: bigint): Promise<Reservation> {
  const got = await gateway.reserve(reserveRequestOf(orgId, amount));
  if ('refused' in got) throw new Error(`Refused: ${got.refused}.`);
  return got;
}

async function pass(gateway: TestGateway, ms: number): Promise<void> {
  await gateway.clock.advance(ms);
  await gateway.maintain();
}

async function sweep({ stream, sweeps }: LeaseHarness = harness): Promise<void> {
  await stream.sink();
  await sweeps.callIn();
  await sweeps.closePassed();
  await sweeps.settleDead();
}

const held = async (orgId: OrgId): Promise<bigint> => (await harness.balance(orgId)).held;
const states = async (orgId: OrgId, { query }: LeaseHarness = harness): Promise<readonly unknown[]> =>
  (await query(`select state from pot_leases where org_id = '${toUuid(orgId)}' order by epoch`)).map(
    ({ state }) => state,
  );

describe('a lease without requests', () => {
  it('is returned after a minute, and its hold is released', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    await gateway.use(await reserve(gateway, orgId, 10n), 7n);
    await pass(gateway, 59_000);
    await sweep();
    expect(await held(orgId)).toBeGreaterThan(0n);
    await pass(gateway, 1_000);
    await sweep();
    expect(await harness.balance(orgId)).toEqual({ balance: 993n, held: 0n, available: 993n });
    expect(await states(orgId)).toEqual(['closed']);
    // No lease remains to return.
    await pass(gateway, 120_000);
    await sweep();
    expect(await harness.balance(orgId)).toEqual({ balance: 993n, held: 0n, available: 993n });
  });

  it('is returned a minute after a rejected request', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    const [first] = [await reserve(gateway, orgId, 10n)];
    await gateway.settle(first, 0n);
    expect(await gateway.reserve(reserveRequestOf(orgId, 5_000n))).toMatchObject({
      refused: 'INSUFFICIENT_BALANCE',
    });
    await pass(gateway, 60_000);
    await sweep();
    expect(await held(orgId)).toBe(0n);
  });

  it('is kept while one of its requests is in flight, and for a minute after', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    const running = await reserve(gateway, orgId, 10n);
    for (const ms of [70_000, 70_000]) await pass(gateway, ms);
    await sweep();
    expect(await states(orgId)).toEqual(['open']);
    await gateway.use(running, 10n);
    await pass(gateway, 59_000);
    await sweep();
    expect(await states(orgId)).toEqual(['open']);
    await pass(gateway, 1_000);
    await sweep();
    expect(await harness.balance(orgId)).toMatchObject({ balance: 990n, held: 0n });
  });

  it('is kept while the ledger does not respond, and returned once it responds after an idle minute', async () => {
    const orgId = await harness.organisation(1_000n);
    let isAway = false;
    const gateway = harness.gateway({
      ledger: (request) => (isAway ? Promise.reject(new Error('no answer')) : harness.service.lease(request)),
    });
    await gateway.use(await reserve(gateway, orgId, 10n), 10n);
    isAway = true;
    await pass(gateway, 60_000);
    expect(gateway.requests()).toBe(2);
    // The gateway asks once a minute, not in each round.
    await pass(gateway, 1_000);
    expect(gateway.requests()).toBe(2);
    await gateway.use(await reserve(gateway, orgId, 10n), 10n);
    isAway = false;
    await pass(gateway, 60_000);
    await sweep();
    expect(await harness.balance(orgId)).toEqual({ balance: 980n, held: 0n, available: 980n });
  });

  it('is kept if a request arrives during the call to the ledger', async () => {
    const orgId = await harness.organisation(1_000n);
    const responses: (() => void)[] = [];
    let isSlow = false;
    const gateway = harness.gateway({
      ledger: async (request) => {
        if (isSlow) await new Promise<void>((resolve) => responses.push(resolve));
        return harness.service.lease(request);
      },
    });
    await gateway.use(await reserve(gateway, orgId, 10n), 10n);
    isSlow = true;
    await gateway.clock.advance(60_000);
    const maintenance = gateway.maintain();
    await expect.poll(() => responses.length).toBe(1);
    const running = await reserve(gateway, orgId, 10n);
    isSlow = false;
    for (const response of responses) response();
    await maintenance;
    await sweep();
    expect(await states(orgId)).toEqual(['open']);
    await gateway.use(running, 10n);
    await pass(gateway, 60_000);
    await sweep();
    expect(await harness.balance(orgId)).toEqual({ balance: 980n, held: 0n, available: 980n });
  });

  it('is kept while another gateway uses it', async () => {
    const orgId = await harness.organisation(1_000n);
    const [idle, busy] = [harness.gateway(), harness.gateway()];
    await idle.use(await reserve(idle, orgId, 10n), 10n);
    await busy.use(await reserve(busy, orgId, 10n), 10n);
    await pass(idle, 60_000);
    await pass(busy, 50_000);
    await sweep();
    expect(await states(orgId)).toEqual(['open']);
    const again = await reserve(busy, orgId, 10n);
    await busy.use(again, 10n);
    await pass(busy, 60_000);
    await sweep();
    expect(await states(orgId)).toEqual(['closed']);
    expect(await harness.balance(orgId)).toMatchObject({ balance: 970n, held: 0n });
  });
});

describe('a request that arrives while its lease is returned', () => {
  it('leases again if the sink has not read the end marker, and both requests are charged', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    await gateway.use(await reserve(gateway, orgId, 10n), 10n);
    await pass(gateway, 60_000);
    const again = await reserve(gateway, orgId, 20n);
    await sweep();
    expect(await states(orgId)).toEqual(['open']);
    await gateway.use(again, 20n);
    await pass(gateway, 60_000);
    await sweep();
    expect(await harness.balance(orgId)).toEqual({ balance: 970n, held: 0n, available: 970n });
  });

  it('uses the same lease if the end marker was read and the lease is still open', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    await gateway.use(await reserve(gateway, orgId, 10n), 10n);
    await pass(gateway, 60_000);
    await harness.stream.sink();
    const again = await reserve(gateway, orgId, 20n);
    await sweep();
    expect(await states(orgId)).toEqual(['open']);
    await gateway.use(again, 20n);
    await gateway.close();
    await sweep();
    expect(await harness.balance(orgId)).toEqual({ balance: 970n, held: 0n, available: 970n });
  });

  it('gets another lease if its lease is being closed, and no money is lost', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    await gateway.use(await reserve(gateway, orgId, 10n), 10n);
    await pass(gateway, 60_000);
    await harness.stream.sink();
    const [again] = await Promise.all([reserve(gateway, orgId, 20n), harness.sweeps.callIn()]);
    harness.stream.publishUsage(usageOf(again, 20n));
    await gateway.settle(again, 20n);
    await gateway.close();
    await sweep();
    await sweep();
    expect(await harness.balance(orgId)).toEqual({ balance: 970n, held: 0n, available: 970n });
  });
});

/** How often a gateway checks that Valkey still has its lease. */
const checkEveryMs = 5_000;

const losses: readonly (readonly [string, (lost: LeaseHarness) => Promise<unknown>])[] = [
  ['restarted empty', ({ valkey }) => valkey.restart()],
  [
    'restarted with earlier leases',
    async ({ valkey }) => {
      await valkey.client.command(['SAVE']);
      await valkey.restart();
    },
  ],
  ['emptied', ({ valkey }) => valkey.client.command(['FLUSHALL'])],
];

describe('a lease that Valkey has lost', () => {
  it.each(losses)(
    'is ended by an idle gateway if Valkey was %s, so that another gateway can lease the whole balance',
    async (_, lose) => {
      await using own = await createLeaseHarness(rules);
      const orgId = await own.organisation(1_000n);
      const [idle, other] = [own.gateway(), own.gateway()];
      await idle.use(await reserve(idle, orgId, 10n), 10n);
      await lose(own);
      // As far as the ledger knows, the idle gateway can still spend from the old lease.
      expect(await other.reserve(reserveRequestOf(orgId, 990n))).toMatchObject({
        refused: 'LEDGER_UNAVAILABLE',
      });
      await pass(idle, checkEveryMs);
      // A second check does not end the lease again.
      await pass(idle, checkEveryMs);
      await sweep(own);
      await other.use(await reserve(other, orgId, 990n), 90n);
      await other.close();
      await sweep(own);
      expect(await own.balance(orgId)).toEqual({ balance: 900n, held: 0n, available: 900n });
      expect(idle.requests()).toBe(1);
    },
  );

  it('is closed even if no other gateway requests money', async () => {
    await using own = await createLeaseHarness(rules);
    const orgId = await own.organisation(1_000n);
    const gateway = own.gateway();
    await gateway.use(await reserve(gateway, orgId, 10n), 10n);
    await own.valkey.restart();
    await pass(gateway, checkEveryMs);
    await sweep(own);
    expect(await own.balance(orgId)).toEqual({ balance: 990n, held: 0n, available: 990n });
    expect(await states(orgId, own)).toEqual(['closed']);
  });

  it('keeps its hold until the request in flight is charged', async () => {
    await using own = await createLeaseHarness(rules);
    const orgId = await own.organisation(1_000n);
    const [idle, other] = [own.gateway(), own.gateway()];
    const running = await reserve(idle, orgId, 40n);
    await own.valkey.restart();
    expect(await other.reserve(reserveRequestOf(orgId, 1_000n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    await pass(idle, checkEveryMs);
    await sweep(own);
    expect(await states(orgId, own)).toContain('closing');
    expect(await other.reserve(reserveRequestOf(orgId, 1_000n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    await idle.use(running, 30n);
    // The gateway reported the end of the lease with the end of the request, so no idle minute has to pass.
    await sweep(own);
    await other.use(await reserve(other, orgId, 970n), 70n);
    await other.close();
    await sweep(own);
    expect(await own.balance(orgId)).toEqual({ balance: 900n, held: 0n, available: 900n });
  });

  it('is kept while Valkey does not respond, and ended once it responds', async () => {
    await using own = await createLeaseHarness(rules);
    const orgId = await own.organisation(1_000n);
    const gateway = own.gateway();
    await gateway.use(await reserve(gateway, orgId, 10n), 10n);
    own.cutGateways(true);
    await pass(gateway, checkEveryMs);
    await sweep(own);
    expect(await states(orgId, own)).toEqual(['open']);
    own.cutGateways(false);
    // Valkey was only unreachable: the gateway still spends from the same lease.
    const again = await reserve(gateway, orgId, 10n);
    expect(again.epoch).toBe(1n);
    await gateway.use(again, 10n);
    own.cutGateways(true);
    await own.valkey.restart();
    await pass(gateway, checkEveryMs);
    await sweep(own);
    expect(await states(orgId, own)).toEqual(['open']);
    own.cutGateways(false);
    await pass(gateway, checkEveryMs);
    await sweep(own);
    expect(await own.balance(orgId)).toEqual({ balance: 980n, held: 0n, available: 980n });
  });

  it('does not end the next lease if a request gets it before Valkey has responded', async () => {
    await using own = await createLeaseHarness(rules);
    const orgId = await own.organisation(1_000n);
    const responses: (() => void)[] = [];
    let isSlow = true;
    const gateway = own.gateway({
      through: (valkey) => ({
        ...valkey,
        runLoaded: async (script, call) => {
          const response = valkey.runLoaded(script, call);
          await response.catch(() => undefined);
          if (isSlow && script.name === 'pot recall')
            await new Promise<void>((resolve) => responses.push(resolve));
          return response;
        },
      }),
    });
    await gateway.use(await reserve(gateway, orgId, 10n), 10n);
    await own.valkey.restart();
    await gateway.clock.advance(checkEveryMs);
    const maintenance = gateway.maintain();
    await expect.poll(() => responses.length).toBe(1);
    const running = await reserve(gateway, orgId, 20n);
    expect(running.epoch).toBe(2n);
    isSlow = false;
    for (const response of responses) response();
    await maintenance;
    const next = await reserve(gateway, orgId, 20n);
    expect(next).toMatchObject({ epoch: 2n, gatewayId: running.gatewayId });
    for (const each of [running, next]) await gateway.use(each, 20n);
    await gateway.close();
    await sweep(own);
    await sweep(own);
    expect(await own.balance(orgId)).toEqual({ balance: 950n, held: 0n, available: 950n });
  });

  it('is charged exactly for its running request, and so is the next lease that a request gets meanwhile', async () => {
    await using own = await createLeaseHarness(rules);
    const orgId = await own.organisation(1_000n);
    const gateway = own.gateway();
    const running = await reserve(gateway, orgId, 10n);
    await own.valkey.restart();
    await gateway.clock.advance(checkEveryMs);
    const [, next] = await Promise.all([gateway.maintain(), reserve(gateway, orgId, 20n)]);
    expect(next.epoch).toBe(2n);
    await gateway.use(running, 10n);
    await gateway.use(next, 20n);
    await gateway.close();
    await sweep(own);
    await sweep(own);
    expect(await own.balance(orgId)).toEqual({ balance: 970n, held: 0n, available: 970n });
  });
});
