import { toUuid, type OrgId } from '@millrace/platform/ids';
import { failingLoop, poisonRows, type Poison } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { applyLedger } from '../ledger/index.ts';
import { listRequiredActions, sweepDueShards } from './index.ts';
import { createMeteringHarness, HOUR_MS, MINUTE_MS, quiet, usd } from './metering.fixture.ts';

const harness = await createMeteringHarness();
afterAll(() => harness.drop());

const ofOrg = (orgId: OrgId): string => `new.org_id = '${toUuid(orgId)}'`;
const failing = (loop: string) =>
  harness.rows<{ item: string; failures: number }>(
    `select item, failures from loop_items where loop = '${loop}' order by item`,
  );
const stepOf = async (orgId: OrgId): Promise<string | undefined> =>
  (
    await harness.rows<{ step: string }>(`select step from wallet_ladders where org_id = '${toUuid(orgId)}'`)
  )[0]?.step;

describe(failingLoop('post meters'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'does not stop the posting of others when its write %s, and is charged once after the fault is removed',
    async (how) => {
      const orgs = await Promise.all(Array.from({ length: 6 }, () => harness.organisation(100)));
      const [bad, ...good] = orgs as [OrgId, ...OrgId[]];
      const meters = await Promise.all(orgs.map((orgId) => harness.open(orgId)));
      const removeFault = await poisonRows(harness.database, {
        table: 'meters',
        when: `${ofOrg(bad)} and new.postings > 0`,
        how,
      });
      await harness.clock.advance(HOUR_MS);
      await harness.sweep();
      for (const [index, orgId] of good.entries()) {
        expect(await harness.paid(orgId, (meters[index + 1] ?? expect.fail()).cause)).toBeGreaterThan(0n);
      }
      const badMeter = meters[0] ?? expect.fail();
      expect(await harness.paid(bad, badMeter.cause)).toBe(0n);
      expect(await failing('post meters')).toEqual([{ item: toUuid(badMeter.id), failures: 1 }]);
      await removeFault();
      await harness.sweep();
      expect(await harness.paid(bad, badMeter.cause)).toBe(0n);
      await harness.clock.advance(MINUTE_MS);
      await harness.sweep();
      const closed = await harness.close(badMeter);
      expect(await harness.paid(bad, badMeter.cause)).toBe(closed.finalCost);
      expect(await failing('post meters')).toEqual([]);
      for (const meter of meters.slice(1)) await harness.close(meter);
    },
  );

  it('is postponed when the ledger refuses it, and the others are charged', async () => {
    const [bad, good] = [await harness.organisation(100), await harness.organisation(100)];
    const [lost, sound] = [await harness.open(bad), await harness.open(good)];
    const holdId = lost.holdId ?? expect.fail('no hold');
    await harness.db.transaction({ name: 'lose', isolation: 'read committed' }, (tx) =>
      applyLedger(tx, [{ do: 'close', orgId: bad, mode: 'live', cause: lost.cause, step: 'lost', holdId }]),
    );
    await harness.clock.advance(HOUR_MS);
    await harness.sweep();
    expect(await harness.paid(good, sound.cause)).toBeGreaterThan(0n);
    await harness.close(sound);
  });
});

describe(failingLoop('walk wallets'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'does not stop the dunning of other wallets when its write %s',
    async (how) => {
      const [bad, good] = [await harness.organisation(5), await harness.organisation(5)];
      await harness.open(bad, { ratePerHour: usd(3.6) });
      const meter = await harness.open(good, { ratePerHour: usd(3.6) });
      const removeFault = await poisonRows(harness.database, {
        table: 'wallet_ladders',
        when: ofOrg(bad),
        how,
      });
      for (let minutes = 0; minutes < 100; minutes += 4) {
        await harness.clock.advance(4 * MINUTE_MS);
        await harness.sweep();
      }
      expect(await stepOf(good)).toBe('empty');
      expect(await listRequiredActions(harness.db, good, 'live')).toMatchObject([
        { action: 'stop', cause: { id: meter.cause.id } },
      ]);
      expect(await stepOf(bad)).toBeUndefined();
      expect(await failing('walk wallets')).toHaveLength(1);
      await removeFault();
      await harness.clock.advance(30 * MINUTE_MS);
      await harness.sweep();
      expect(await stepOf(bad)).toBe('empty');
      expect(await failing('walk wallets')).toEqual([]);
    },
  );
});

describe(failingLoop('call off stops'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'does not stop the cancellation of other stops when its write %s',
    async (how) => {
      const orgs = [
        await harness.organisation(5),
        await harness.organisation(5),
        await harness.organisation(5),
      ];
      const [bad, ...good] = orgs as [OrgId, ...OrgId[]];
      for (const orgId of orgs) {
        // The rental has ended, so no hold of it can end and the stop is not needed.
        await harness.rows(
          `insert into required_actions (org_id, mode, cause_kind, cause_id, action, reason, due_at, created_at)
           values ('${toUuid(orgId)}', 'live', 'rental', 'ended-${how}', 'stop', 'budget', now(), now()) returning id`,
        );
      }
      const removeFault = await poisonRows(harness.database, {
        table: 'required_actions',
        when: ofOrg(bad),
        how,
      });
      await harness.sweep();
      for (const orgId of good) expect(await listRequiredActions(harness.db, orgId, 'live')).toEqual([]);
      expect(await listRequiredActions(harness.db, bad, 'live')).toHaveLength(1);
      expect(await failing('call off stops')).toMatchObject([{ failures: 1 }]);
      await removeFault();
      await harness.clock.advance(MINUTE_MS);
      await harness.sweep();
      expect(await listRequiredActions(harness.db, bad, 'live')).toEqual([]);
      expect(await failing('call off stops')).toEqual([]);
    },
  );
});

describe('sweep that fails as a whole', () => {
  it('releases its shards, so that they are swept again at once', async () => {
    const broken = await harness.database.connect();
    await broken.query('alter table wallet_ladders rename to wallet_ladders_away');
    const sweep = () => sweepDueShards(harness.db, { log: quiet, everyMs: 30_000, limit: 64 });
    await expect(sweep()).rejects.toThrow('wallet_ladders');
    await broken.query('alter table wallet_ladders_away rename to wallet_ladders');
    await broken.end();
    expect(await sweep()).toBe(64);
    expect(await sweep()).toBe(0);
  });
});
