import { toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { shardOf } from '@millrace/platform/outbox';
import { createRandom } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import type { RecallCredit } from '../ledger/index.ts';
import { sweepDueShards, sweepMeters } from './index.ts';
import { burnRateOf } from './dunning.ts';
import {
  claimRequiredActions,
  completeRequiredAction,
  readWalletStatuses,
  readBurnRate,
} from './dunning.store.ts';
import { checkWalletsLoop } from './loops.ts';
import { lockRunningMeters } from './meters.store.ts';
import { allShards, createMeteringHarness, HOUR_MS, MINUTE_MS, quiet, usd } from './metering.fixture.ts';

const harness = await createMeteringHarness();
const { actionsOf, events, pass } = harness;
afterAll(() => harness.drop());

const isolation = 'read committed';

async function stepOf(orgId: OrgId): Promise<string | undefined> {
  const found = await harness.rows<{ step: string }>(
    `select step from wallet_ladders where org_id = '${toUuid(orgId)}'`,
  );
  return found[0]?.step;
}

const claim = (kinds: readonly string[], limit = 100) =>
  harness.db.transaction({ name: 'claim', isolation }, (tx) =>
    claimRequiredActions(tx, {
      kinds,
      now: tx.clock.now(),
      claimMs: 5 * MINUTE_MS,
      limit,
      loop: checkWalletsLoop,
    }),
  );

describe('wallet that runs out of money', () => {
  it('is warned once each at a day, an hour and 15 minutes, and then required to stop', async () => {
    const orgId = await harness.organisation(25 * 3.6);
    const meter = await harness.open(orgId);
    await pass(30 * MINUTE_MS, 10 * MINUTE_MS);
    expect(await events(orgId)).toEqual([]);
    await pass(60 * MINUTE_MS, 10 * MINUTE_MS);
    expect([await events(orgId), await stepOf(orgId)]).toEqual([['balance.low'], 'day']);
    await pass(22 * HOUR_MS, 30 * MINUTE_MS);
    expect(await events(orgId)).toEqual(['balance.low']);
    await pass(45 * MINUTE_MS);
    expect([await events(orgId), await stepOf(orgId)]).toEqual([['balance.low', 'balance.low'], 'hour']);
    await pass(35 * MINUTE_MS);
    expect([await events(orgId), await stepOf(orgId)]).toEqual([
      ['balance.low', 'balance.low', 'balance.low'],
      'quarter',
    ]);
    expect(await actionsOf(orgId)).toEqual([]);
    await pass(9 * MINUTE_MS);
    expect(await events(orgId)).toEqual(['balance.low', 'balance.low', 'balance.low', 'balance.floor']);
    expect(await actionsOf(orgId)).toEqual([
      { action: 'stop', id: meter.cause.id, reason: 'balance', state: 'pending' },
    ]);
    // The stop happened within the reserved time, so there is no shortfall.
    const { finalCost } = await harness.close(meter);
    expect(finalCost).toBeLessThanOrEqual(usd(25 * 3.6));
    expect(await harness.paid(orgId, meter.cause)).toBe(finalCost);
    await pass(MINUTE_MS);
    expect(await stepOf(orgId)).toBe('fine');
    expect(await actionsOf(orgId)).toEqual([]);
  });

  it('reports balance, burn rate and runway in its events', async () => {
    const orgId = await harness.organisation(10 * 3.6);
    const meter = await harness.open(orgId);
    await harness.sweep();
    const [event] = await harness.rows<{ payload: unknown; resource_kind: string }>(
      `select payload, resource_kind from outbox where org_id = '${toUuid(orgId)}'`,
    );
    expect(event).toEqual({
      resource_kind: 'balance',
      payload: {
        balanceNanoUsd: usd(36).toString(),
        availableNanoUsd: (usd(36) - meter.held).toString(),
        burnRateUsdPerHour: 3.6,
        runwaySeconds: 36_000,
      },
    });
    await harness.close(meter);
  });

  it('shares the remaining money so that all resources last equally long', async () => {
    const orgId = await harness.organisation(9.5);
    const meters = [await harness.open(orgId), await harness.open(orgId)];
    let lasted = 0;
    while ((await actionsOf(orgId)).length === 0 && lasted < 200) {
      await pass(MINUTE_MS);
      lasted += 1;
    }
    // 9.5 USD at 7.2 USD per hour last 79 minutes, of which two are reserved for stopping.
    expect(lasted).toBeGreaterThanOrEqual(76);
    expect(lasted).toBeLessThanOrEqual(78);
    expect((await actionsOf(orgId)).map(({ id }) => id).toSorted()).toEqual(
      meters.map(({ cause }) => cause.id).toSorted(),
    );
    for (const meter of meters) await harness.close(meter);
    const [short] = await harness.rows<{ sum: string }>(
      `select sum(shortfall_nano_usd)::text as sum from meters where org_id = '${toUuid(orgId)}'`,
    );
    expect(short?.sum).toBe('0');
  });

  it('retains data for the time that was paid for, and then requires its deletion', async () => {
    const retentionMs = 24 * HOUR_MS;
    const orgId = await harness.organisation(3.6 * 26.5);
    const cause = { kind: 'volume', id: 'kept' };
    const meter = await harness.open(orgId, {
      cause,
      product: 'volume',
      unit: 'gb',
      funding: { kind: 'ahead', retentionMs },
    });
    await pass(130 * MINUTE_MS, 10 * MINUTE_MS);
    await pass(20 * MINUTE_MS);
    const actions = await actionsOf(orgId);
    expect(actions.map(({ action }) => action)).toEqual(['stop', 'delete']);
    // A frozen volume continues to use the money held for its retention, and is not required to stop again.
    const [stop] = await claim(['volume']);
    await harness.db.transaction({ name: 'frozen', isolation }, (tx) =>
      completeRequiredAction(tx, orgId, stop?.id ?? ''),
    );
    await pass(20 * HOUR_MS, 30 * MINUTE_MS);
    expect((await actionsOf(orgId)).map(({ action }) => action)).toEqual(['delete']);
    expect(await claim(['volume'])).toEqual([]);
    await pass(4 * HOUR_MS, 30 * MINUTE_MS);
    const due = await claim(['volume']);
    expect(due).toMatchObject([{ action: 'delete', cause, orgId }]);
    const { finalCost } = await harness.close(meter);
    expect(await harness.paid(orgId, cause)).toBe(finalCost);
  });

  it('recovers by a top-up: unclaimed actions are cancelled, and the next shortage is announced again', async () => {
    const orgId = await harness.organisation(4.5);
    const [first, second] = [
      await harness.open(orgId, { ratePerHour: usd(1) }),
      await harness.open(orgId, { ratePerHour: usd(1) }),
    ];
    await pass(120 * MINUTE_MS, 10 * MINUTE_MS);
    await pass(14 * MINUTE_MS);
    expect(await actionsOf(orgId)).toHaveLength(2);
    const [started] = await claim(['rental'], 1);
    await harness.topUp(orgId, 100);
    await pass(MINUTE_MS);
    expect(await stepOf(orgId)).toBe('fine');
    expect(await actionsOf(orgId)).toMatchObject([{ id: started?.cause.id, state: 'claimed' }]);
    await harness.db.transaction({ name: 'done', isolation }, (tx) =>
      completeRequiredAction(tx, orgId, started?.id ?? ''),
    );
    expect(await actionsOf(orgId)).toEqual([]);
    const before = (await events(orgId)).length;
    await pass(30 * HOUR_MS, 30 * MINUTE_MS);
    expect((await events(orgId)).slice(before)).toEqual(['balance.low']);
    for (const meter of [first, second]) if (meter !== undefined) await harness.close(meter);
  });

  it('changes its dunning level once if several sweeps run concurrently', async () => {
    const orgId = await harness.organisation(5);
    const meter = await harness.open(orgId);
    await harness.clock.advance(82 * MINUTE_MS);
    const sweep = () => sweepMeters(harness.db, { shards: allShards, log: quiet });
    await Promise.all([sweep(), sweep(), sweep()]);
    expect(await events(orgId)).toEqual(['balance.floor']);
    expect(await actionsOf(orgId)).toHaveLength(1);
    await harness.close(meter);
  });
});

describe('stop_everything budget', () => {
  it('requires a stop although the wallet has money, and cancels it after the resource ended', async () => {
    const orgId = await harness.organisation(1_000);
    const meter = await harness.open(orgId);
    await harness.createStoppingBudget(orgId, usd(7));
    await pass(4 * HOUR_MS, 10 * MINUTE_MS);
    expect(await actionsOf(orgId)).toMatchObject([{ action: 'stop', reason: 'budget' }]);
    expect(await stepOf(orgId)).toBe('fine');
    await harness.close(meter);
    await pass(MINUTE_MS);
    expect(await actionsOf(orgId)).toEqual([]);
  });
});

describe('meter with a supplier', () => {
  it('is stopped before its hold ends if only promotional credit remains, and takes none of it', async () => {
    const orgId = await harness.organisation(7);
    await harness.topUp(orgId, 1_000, 'promo');
    const supplier = { orgId: await harness.organisation(0), ratePerHour: usd(1) };
    const own = await harness.open(orgId);
    const supplied = await harness.open(orgId, { supplier });
    await pass(4 * HOUR_MS);
    const stop = { action: 'stop', reason: 'budget', id: supplied.cause.id };
    expect(await actionsOf(orgId)).toMatchObject([stop]);
    expect(own.cause).not.toEqual(supplied.cause);
    expect(await stepOf(orgId)).toBe('fine');
  });

  it('keeps its hold while paused, so that resuming never costs the operator', async () => {
    const orgId = await harness.organisation(8);
    const supplier = { orgId: await harness.organisation(0), ratePerHour: usd(1) };
    const meter = await harness.open(orgId, { supplier });
    const { held } = await harness.balance(orgId);
    await harness.pause(meter);
    expect(await harness.balance(orgId)).toMatchObject({ held, available: usd(8) - held });
    expect((await harness.resume(meter)).held).toBe(held);
    await harness.close(meter);
    expect((await harness.balance(orgId)).held).toBe(0n);
  });
});

describe('readWalletStatuses', () => {
  it('agrees with burnRateOf about every wallet', async () => {
    const random = createRandom(11);
    for (let nth = 0; nth < 10; nth += 1) {
      const orgId = await harness.organisation(5_000);
      const count = random.int(1, 6);
      const meters = [];
      for (let more = 0; more < count; more += 1) {
        await harness.clock.advance(random.int(0, 40 * MINUTE_MS));
        meters.push(
          await harness.open(orgId, {
            ratePerHour: nanoUsd(BigInt(random.int(1, 2_000_000_000))),
            funding: {
              kind: 'ahead',
              retentionMs: random.pick([0, 0, random.int(1, 48 * HOUR_MS)]),
              ...random.pick([{}, { retentionRatePerHour: nanoUsd(BigInt(random.int(0, 50_000_000))) }]),
            },
          }),
        );
      }
      await harness.clock.advance(random.int(0, 40 * MINUTE_MS));
      const now = harness.clock.now();
      const looks = await readWalletStatuses(harness.db, [shardOf(orgId)], now);
      const seen = looks.find((look) => look.orgId === orgId);
      const running = await harness.db.transaction({ name: 'lock', isolation }, (tx) =>
        lockRunningMeters(tx, orgId, 'live'),
      );
      const known = burnRateOf(running, now);
      expect(seen).toMatchObject({ burnPerHour: known.burnPerHour, driesAt: known.driesAt });
      expect(Math.abs(Number((seen?.cover ?? 0n) - known.cover))).toBeLessThanOrEqual(2 * count + 1);
      // The balance shows the same figures for this wallet.
      expect(await readBurnRate(harness.db, orgId, 'live', now)).toEqual({
        burnPerHour: seen?.burnPerHour,
        cover: seen?.cover,
      });
      for (const meter of meters) await harness.close(meter);
    }
  });
});

describe('sweepDueShards', () => {
  it('lets one worker sweep each shard per interval, and another worker take over', async () => {
    await harness.clock.advance(HOUR_MS);
    const sweep = (limit: number) => sweepDueShards(harness.db, { log: quiet, everyMs: MINUTE_MS, limit });
    const taken = await Promise.all([sweep(40), sweep(40)]);
    expect(taken.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(64);
    await sweep(64);
    expect(await sweep(64)).toBe(0);
    await harness.clock.advance(MINUTE_MS);
    expect(await sweep(64)).toBe(64);
  });
});

describe('wallet with leased credit', () => {
  /** A credit lease of `leased`, which returns no more than it has. */
  function leaseWith(orgId: OrgId, leased: bigint) {
    let left = leased;
    const recalls: bigint[] = [];
    const recallMoney: RecallCredit = async ({ amount }) => {
      const given = amount === 'all' || amount > left ? left : amount;
      left -= given;
      recalls.push(given);
      if (given > 0n) await harness.topUp(orgId, Number(given) / 1e9);
      return given;
    };
    return { recallMoney, recalls, left: () => left };
  }

  const passWith = async (recallMoney: RecallCredit, ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5 * MINUTE_MS) {
      await harness.clock.advance(5 * MINUTE_MS);
      await sweepMeters(harness.db, { shards: allShards, log: quiet, recallMoney });
    }
  };

  it('recalls credit before anything is stopped, and only enough for the next renewals', async () => {
    const orgId = await harness.organisation(2 * 3.6);
    await harness.open(orgId);
    const lease = leaseWith(orgId, usd(10 * 3.6));
    await passWith(lease.recallMoney, 4 * HOUR_MS);
    expect(await actionsOf(orgId)).toEqual([]);
    expect(await stepOf(orgId)).not.toBe('empty');
    expect(lease.recalls.length).toBeGreaterThan(0);
    // Four hours were used, and the holds reach beyond the next renewal.
    expect(lease.left()).toBeGreaterThan(usd(6 * 3.6));
  });

  it('is required to stop if the recall fails', async () => {
    const orgId = await harness.organisation(2 * 3.6);
    await harness.open(orgId);
    const silent: RecallCredit = () => Promise.reject(new Error('unreachable'));
    await passWith(silent, 3 * HOUR_MS);
    expect(await stepOf(orgId)).toBe('empty');
  });
});
