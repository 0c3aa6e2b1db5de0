import type { Reservation } from '@millrace/credit-leases/client';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  reserveRequestOf,
  createLeaseHarness,
  nextRequestId,
  usageOf,
  type TestGateway,
} from './leases.fixture.ts';

const harness = await createLeaseHarness();
// Prepare the server first, so that an injected fault hits the intended transaction.
await harness.gateway().reserve(reserveRequestOf(await harness.organisation(10n), 1n));
afterAll(() => harness[Symbol.asyncDispose]());
beforeEach(() => harness.clock.reset());

/** After every crash each lease holds exactly what may still be charged to it. */
afterEach(async () => {
  const wrong = await harness.query(`
    select lease.id, hold.held_nano_usd as held,
           greatest(0, granted_nano_usd - recalled_nano_usd - settled_nano_usd) as owed
      from pot_leases lease join ledger_holds hold on hold.id = lease.hold_id
     where hold.held_nano_usd <> case when lease.state = 'closed' then 0
             else greatest(0, granted_nano_usd - recalled_nano_usd - settled_nano_usd) end`);
  expect(wrong).toEqual([]);
});

async function reserved(gateway: TestGateway, orgId: OrgId, amount: bigint): Promise<Reservation> {
  const got = await gateway.reserve(reserveRequestOf(orgId, amount));
  if ('refused' in got) return expect.fail(`refused: ${got.refused}`);
  return got;
}

const states = async (orgId: OrgId) =>
  (await harness.query(`select state from pot_leases where org_id = '${toUuid(orgId)}' order by epoch`)).map(
    ({ state }) => state,
  );

const recalledInLedger = async (orgId: OrgId) =>
  (
    await harness.query(
      `select recalled_nano_usd::int as recalled from pot_leases where org_id = '${toUuid(orgId)}' order by epoch`,
    )
  ).map(({ recalled }) => recalled);

/** In the end the organisation has its unused money back, and nothing is held. */
async function expectInTheEnd(
  gateways: readonly TestGateway[],
  orgId: OrgId,
  balance: bigint,
): Promise<void> {
  for (const gateway of gateways) await gateway.close();
  harness.clock.advance(200_000);
  await harness.sweeps.callIn();
  await harness.sweeps.endDead();
  await harness.stream.sink();
  await harness.sweeps.closePassed();
  expect(await harness.balance(orgId)).toEqual({ balance, held: 0n, available: balance });
  expect(new Set(await states(orgId))).toEqual(new Set(['closed']));
}

describe('a worker that dies', () => {
  it('after granting in the ledger and before Valkey frees the money at once, because no gateway holds the lease', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    harness.faults.dieAt('pot open', 'before');
    expect(await gateway.reserve(reserveRequestOf(orgId, 80n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    expect((await harness.balance(orgId)).held).toBe(80n);
    // The request needs the money of the lost lease, and gets it.
    const got = await reserved(gateway, orgId, 80n);
    expect(await states(orgId)).toEqual(['closed', 'open']);
    await gateway.use(got, 70n);
    await expectInTheEnd([gateway], orgId, 30n);
  });

  it('after opening the lease in Valkey and before replying leaves a lease that the next request uses', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    harness.faults.dieAt('pot open', 'after');
    expect(await gateway.reserve(reserveRequestOf(orgId, 80n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    const got = await reserved(gateway, orgId, 80n);
    expect(await states(orgId)).toEqual(['open']);
    await gateway.use(got, 80n);
    await expectInTheEnd([gateway], orgId, 20n);
  });

  it('after recording the holder and before replying makes the gateway end an epoch that it does not know', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    harness.faults.dieAt('tell gateway of lease', 'after');
    expect(await gateway.reserve(reserveRequestOf(orgId, 80n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    await harness.valkey.client.command(['FLUSHALL']);
    // The lease is lost, and its money may be in use as far as the ledger knows, so it is not available yet.
    expect(await gateway.reserve(reserveRequestOf(orgId, 80n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    await harness.stream.sink();
    await harness.sweeps.closePassed();
    await gateway.use(await reserved(gateway, orgId, 80n), 10n);
    await expectInTheEnd([gateway], orgId, 90n);
  });

  it('after enlarging in the ledger and before Valkey lets the next request enlarge the lease in Valkey', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateway = harness.gateway();
    await gateway.use(await reserved(gateway, orgId, 100n), 100n);
    harness.faults.dieAt('pot enlarge', 'before');
    expect(await gateway.reserve(reserveRequestOf(orgId, 300n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    await gateway.use(await reserved(gateway, orgId, 300n), 300n);
    expect(await states(orgId)).toEqual(['open']);
    await expectInTheEnd([gateway], orgId, 600n);
  });

  it.each(['before', 'after'] as const)('%s recording a recall counts the recall once', async (when) => {
    const orgId = await harness.organisation(200n);
    const gateway = harness.gateway();
    const got = await reserved(gateway, orgId, 30n);
    harness.faults.dieAt('take back from pot', when);
    await expect(harness.service.recallFor({ orgId, mode: 'live', amount: 50n })).rejects.toThrow('died');
    if (when === 'before') expect(await recalledInLedger(orgId)).toEqual([0]);
    // The second recall finds the credit already taken in Valkey.
    await harness.service.recallFor({ orgId, mode: 'live', amount: 50n });
    expect(await recalledInLedger(orgId)).toEqual([when === 'before' ? 50 : 70]);
    await gateway.use(got, 30n);
    await expectInTheEnd([gateway], orgId, 170n);
  });

  it('between a recall in Valkey and the ledger lets the next lease request record it', async () => {
    const orgId = await harness.organisation(200n);
    const gateway = harness.gateway();
    await gateway.use(await reserved(gateway, orgId, 30n), 30n);
    harness.faults.dieAt('take back from pot', 'before');
    await expect(harness.service.recallFor({ orgId, mode: 'live', amount: 50n })).rejects.toThrow('died');
    await reserved(harness.gateway(), orgId, 1n);
    expect(await recalledInLedger(orgId)).toEqual([50]);
  });

  it('between closing a lease in Valkey and in the ledger lets the next request get a new lease', async () => {
    const orgId = await harness.organisation(300n);
    const gateway = harness.gateway();
    harness.clock.advance(61_000);
    // So that the fault does not hit leases that other tests left open.
    await harness.sweeps.callIn();
    const got = await reserved(gateway, orgId, 40n);
    harness.faults.dieAt('take back from pot', 'before');
    await harness.sweeps.callIn();
    expect(await states(orgId)).toEqual(['open']);
    const next = await reserved(gateway, orgId, 40n);
    expect(next.epoch).toBe(got.epoch + 1n);
    expect((await states(orgId))[0]).toBe('closing');
    await gateway.use(got, 40n);
    await gateway.use(next, 40n);
    await expectInTheEnd([gateway], orgId, 220n);
  });

  it('between beginning a generation and preparing the server makes the next worker begin another', async () => {
    await using own = await createLeaseHarness();
    const orgId = await own.organisation(100n);
    own.faults.dieAt('SCRIPT', 'before');
    expect(await own.gateway().reserve(reserveRequestOf(orgId, 10n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    expect(await own.gateway().reserve(reserveRequestOf(orgId, 10n))).toMatchObject({ epoch: 1n });
    expect(await own.query('select generation::int from pot_servers')).toEqual([{ generation: 2 }]);
  });
});

describe('two concurrent workers', () => {
  it('begin one generation together, however long the removal of old leases takes', async () => {
    await using own = await createLeaseHarness();
    const orgId = await own.organisation(1_000n);
    await own.gateway().reserve(reserveRequestOf(orgId, 1n));
    await own.valkey.restart();
    let goOn = (): void => undefined;
    let reached = (): void => undefined;
    const mayScan = new Promise<void>((resolve) => (goOn = resolve));
    const scanning = new Promise<void>((resolve) => (reached = resolve));
    const slow = own.worker({
      ...own.valkey.client,
      command: async (words, options) => {
        if (words[0] === 'SCAN') {
          reached();
          await mayScan;
        }
        return own.valkey.client.command(words, options);
      },
    });
    const first = own.gateway({ ledger: slow.lease });
    const late = first.reserve(reserveRequestOf(orgId, 10n));
    await scanning;
    const second = own.gateway({ ledger: own.worker().lease });
    const got = await reserved(second, orgId, 10n);
    goOn();
    await late;
    await reserved(first, orgId, 10n);
    // Leases granted meanwhile still exist.
    expect((await reserved(second, orgId, 10n)).epoch).toBe(got.epoch);
    expect(await own.query('select generation::int from pot_servers')).toEqual([{ generation: 2 }]);
  });

  it('prepare a new server once, and grant one after the other', async () => {
    await using own = await createLeaseHarness();
    const orgId = await own.organisation(1_000n);
    const workers = [own.worker(), own.worker(), own.worker()];
    const gateways = workers.map((worker) => own.gateway({ ledger: worker.lease }));
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(gateways.map((gateway) => gateway.reserve(reserveRequestOf(orgId, 1n))));
    }
    const responses = await Promise.all(
      Array.from({ length: 90 }, (_, nth) =>
        (gateways[nth % 3] ?? expect.fail('none')).reserve(reserveRequestOf(orgId, 20n)),
      ),
    );
    const admitted = responses.filter((got) => 'leaseId' in got).length;
    expect(admitted).toBeGreaterThan(30);
    expect(admitted).toBeLessThanOrEqual(50);
    const sums = await own.query(
      `select sum(granted_nano_usd)::int as granted from pot_leases where state = 'open'`,
    );
    expect(sums[0]?.['granted']).toBeLessThanOrEqual(1_000);
  });
});

describe('a Valkey', () => {
  it('that is wiped has its reservations charged to the old lease, and new requests use a new lease', async () => {
    const orgId = await harness.organisation(1_000n);
    const gateways = [harness.gateway(), harness.gateway()] as const;
    const old = await Promise.all(gateways.map((gateway) => reserved(gateway, orgId, 40n)));
    await harness.valkey.client.command(['FLUSHALL']);
    const fresh = await Promise.all(gateways.map((gateway) => reserved(gateway, orgId, 50n)));
    expect(new Set(fresh.map(({ epoch }) => epoch))).toEqual(new Set([2n]));
    for (const [nth, gateway] of gateways.entries()) {
      await gateway.use(old[nth] ?? expect.fail('none'), 40n);
      await gateway.use(fresh[nth] ?? expect.fail('none'), 50n);
    }
    await expectInTheEnd(gateways, orgId, 820n);
  });

  it('that restarts from disk is not trusted, although its leases exist', async () => {
    await using own = await createLeaseHarness();
    const orgId = await own.organisation(1_000n);
    const gateway = own.gateway();
    const first = await reserved(gateway, orgId, 10n);
    await own.valkey.client.command(['SAVE']);
    await gateway.use(await reserved(gateway, orgId, 90n), 90n);
    await own.valkey.restart();
    const next = await reserved(gateway, orgId, 90n);
    expect(next.epoch).toBe(2n);
    await gateway.use(first, 10n);
    await gateway.use(next, 90n);
    await own.stream.sink();
    expect((await own.balance(orgId)).balance).toBe(810n);
    expect(await own.query('select generation::int from pot_servers')).toEqual([{ generation: 2 }]);
  });

  it('that is unreachable makes requests fail with 503, whatever the ledger replies', async () => {
    await using own = await createLeaseHarness();
    const orgId = await own.organisation(1_000n);
    const gateway = own.gateway();
    await reserved(gateway, orgId, 10n);
    await own.valkey[Symbol.asyncDispose]();
    expect(await gateway.reserve(reserveRequestOf(orgId, 10n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
    expect(await own.gateway().reserve(reserveRequestOf(orgId, 10n))).toMatchObject({
      refused: 'LEDGER_UNAVAILABLE',
    });
  });
});

describe('closing a lease', () => {
  it('waits for the end of each holder, and for the sink to process it', async () => {
    const orgId = await harness.organisation(1_000n);
    const [one, two] = [harness.gateway(), harness.gateway()];
    await one.use(await reserved(one, orgId, 20n), 20n);
    const pending = await reserved(two, orgId, 30n);
    harness.clock.advance(100_000);
    await harness.sweeps.callIn();
    expect(await states(orgId)).toEqual(['closing']);
    // Unreserved credit is free at once; the rest stays held.
    expect((await harness.balance(orgId)).held).toBe(50n);
    await one.close();
    await harness.stream.sink();
    await harness.sweeps.closePassed();
    expect(await states(orgId)).toEqual(['closing']);
    const closing = two.close();
    await two.use(pending, 30n);
    await closing;
    await harness.sweeps.closePassed();
    expect(await states(orgId)).toEqual(['closing']);
    await harness.stream.sink();
    await harness.sweeps.closePassed();
    expect(await states(orgId)).toEqual(['closed']);
    expect(await harness.balance(orgId)).toEqual({ balance: 950n, held: 0n, available: 950n });
  });

  it('skips a lease that has not expired', async () => {
    const orgId = await harness.organisation(1_000n);
    await reserved(harness.gateway(), orgId, 20n);
    await harness.sweeps.callIn();
    expect(await states(orgId)).toEqual(['open']);
  });

  it('lets a gateway that ended an epoch use it again only under another holder id', async () => {
    const orgId = await harness.organisation(1_000n);
    const [steady, fickle] = [harness.gateway(), harness.gateway()];
    await reserved(steady, orgId, 10n);
    const first = await reserved(fickle, orgId, 10n);
    await fickle.use(first, 10n);
    await fickle.clock.advance(26_000);
    await fickle.maintain();
    await fickle.clock.advance(51_000);
    await fickle.maintain();
    await harness.stream.sink();
    const again = await reserved(fickle, orgId, 10n);
    expect(again.leaseId).toBe(first.leaseId);
    expect(again.gatewayId).not.toBe(first.gatewayId);
    await fickle.use(again, 10n);
    await harness.stream.sink();
    expect((await harness.balance(orgId)).balance).toBe(980n);
  });
});

describe('a reservation that could not be settled', () => {
  it('is released when its gateway has ended the epoch and the lease is still open', async () => {
    const orgId = await harness.organisation(100n);
    const [steady, leaving] = [harness.gateway(), harness.gateway()];
    const retained = await reserved(steady, orgId, 5n);
    const used = await reserved(leaving, orgId, 50n);
    const unused = await reserved(leaving, orgId, 30n);
    // Valkey failed both times, so only the gateway's count and the stream have the ends.
    harness.stream.publishUsage(usageOf(used, 20n));
    harness.cutGateways(true);
    await leaving.settle(used, 20n);
    await leaving.settle(unused, 0n);
    harness.cutGateways(false);
    await leaving.close();
    await harness.stream.sink();
    expect(await steady.reserve(reserveRequestOf(orgId, 70n))).toMatchObject({
      refused: 'INSUFFICIENT_BALANCE',
    });
    await harness.sweeps.settleDead();
    expect(await harness.sweeps.settleDead()).toBe(0);
    const got = await reserved(steady, orgId, 70n);
    await steady.use(got, 70n);
    await steady.use(retained, 5n);
    await expectInTheEnd([steady], orgId, 5n);
  });
});

describe('a gateway that dies', () => {
  it('is declared dead after a time without contact, and its uncharged reservations are released', async () => {
    const orgId = await harness.organisation(100n);
    const [dying, living] = [harness.gateway(), harness.gateway()];
    const charged = await reserved(dying, orgId, 20n);
    await reserved(dying, orgId, 25n);
    // Its usage is in the stream, and it dies before it settles.
    harness.stream.publishUsage(usageOf(charged, 15n));
    await reserved(living, orgId, 5n);
    harness.clock.advance(121_000);
    await harness.query(`update pot_gateways set last_seen_at = now() + interval '1 day'
      where gateway_id in (select gateway_id from pot_lease_gateways
          where org_id = '${toUuid(orgId)}' and gateway_id <> '${charged.gatewayId}')`);
    await harness.sweeps.endDead();
    await harness.sweeps.settleDead();
    expect(await living.reserve(reserveRequestOf(orgId, 80n))).toMatchObject({
      refused: 'INSUFFICIENT_BALANCE',
    });
    await harness.stream.sink();
    harness.faults.dieAt('give back of ended gateway', 'before');
    await harness.sweeps.settleDead();
    await harness.sweeps.settleDead();
    expect(await harness.sweeps.settleDead()).toBe(0);
    await reserved(living, orgId, 80n);
    // The gateway was only paused: its late usage is recorded and not charged.
    harness.stream.publishUsage({ ...usageOf(charged, 25n), requestId: nextRequestId() });
    expect(await harness.stream.sink()).toMatchObject([{ outcome: 'late' }]);
    expect((await harness.balance(orgId)).balance).toBe(85n);
  });

  it('and returns must continue under another holder id', async () => {
    const orgId = await harness.organisation(100n);
    const gateway = harness.gateway();
    const first = await reserved(gateway, orgId, 1n);
    harness.clock.advance(300_000);
    await harness.sweeps.endDead();
    await harness.stream.sink();
    await gateway.clock.advance(26_000);
    await gateway.maintain();
    const next = await reserved(gateway, orgId, 1n);
    expect(next.gatewayId).not.toBe(first.gatewayId);
  });
});
