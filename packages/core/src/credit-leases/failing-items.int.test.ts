import { toUuid, type OrgId } from '@millrace/platform/ids';
import {
  databaseWithClock,
  eventually,
  failingCall,
  failingLoop,
  poisonRows,
  testLog,
  type ItemPoison,
  type Poison,
} from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { reserveRequestOf, createLeaseHarness, testRules } from './leases.fixture.ts';
import { createCreditLeaseSweeps } from './lender/leases.sweeps.ts';

const harness = await createLeaseHarness();
afterAll(() => harness[Symbol.asyncDispose]());
beforeEach(() => harness.clock.reset());

const stateOf = async (orgId: OrgId): Promise<unknown> => {
  const rows = await harness.query(`select state from pot_leases where org_id = '${toUuid(orgId)}'`);
  return rows.map((row) => (row as { state: string }).state);
};

async function createLeases(): Promise<readonly [OrgId, OrgId]> {
  const gateway = harness.gateway();
  const [bad, good] = [await harness.organisation(1_000n), await harness.organisation(1_000n)];
  for (const orgId of [bad, good]) {
    const got = await gateway.reserve(reserveRequestOf(orgId, 10n));
    if ('refused' in got) expect.fail(got.refused);
    else await gateway.use(got, 10n);
  }
  await gateway.close();
  // Far beyond the lease, because the clock continues while the test runs.
  harness.clock.advance(600_000);
  return [bad, good];
}

describe(failingLoop('call in leases of pots'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not keep other leases from closing',
    async (how) => {
      const [bad, good] = await createLeases();
      const when = `new.org_id = '${toUuid(bad)}'`;
      const removeFault = await poisonRows(harness.database, { table: 'pot_leases', when, how });
      await harness.sweeps.callIn();
      expect([await stateOf(bad), await stateOf(good)]).toEqual([['open'], ['closing']]);
      await removeFault();
    },
  );
});

describe(failingLoop('close leases of pots'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not keep other leases from being closed',
    async (how) => {
      const [bad, good] = await createLeases();
      await harness.sweeps.callIn();
      await harness.stream.sink();
      const when = `new.org_id = '${toUuid(bad)}' and new.state = 'closed'`;
      const removeFault = await poisonRows(harness.database, { table: 'pot_leases', when, how });
      await harness.sweeps.closePassed();
      expect([await stateOf(bad), await stateOf(good)]).toEqual([['closing'], ['closed']]);
      await removeFault();
    },
  );
});

describe(failingLoop('give up silent gateways'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'whose end marker %s does not delay other end markers',
    async (how) => {
      const gateway = harness.gateway();
      const [bad, good] = [await harness.organisation(1_000n), await harness.organisation(1_000n)];
      for (const orgId of [bad, good]) {
        const got = await gateway.reserve(reserveRequestOf(orgId, 10n));
        if ('refused' in got) expect.fail(got.refused);
      }
      await gateway.idle();
      harness.clock.advance(600_000);
      const published: OrgId[] = [];
      const hanging = Promise.withResolvers<never>();
      const sweeps = createCreditLeaseSweeps({
        db: databaseWithClock(harness.db, harness.clock),
        log: testLog(),
        cell: 1,
        service: harness.service,
        rules: testRules,
        publishEnd: async ({ orgId }) => {
          if (orgId === bad) await (how === 'throws' ? failingCall(how) : hanging.promise);
          published.push(orgId);
        },
      });
      const swept = sweeps.endDead();
      await eventually({ what: 'the other end is published' }, () => published.includes(good));
      expect(published).not.toContain(bad);
      if (how === 'hangs') hanging.reject(new Error('The call was cancelled.'));
      await swept;
    },
  );
});

describe(failingLoop('settle ended gateways'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not keep reservations of other gateways',
    async (how) => {
      const [dying, living] = [harness.gateway(), harness.gateway()];
      const [bad, good] = [await harness.organisation(1_000n), await harness.organisation(1_000n)];
      let gatewayId = '';
      for (const orgId of [bad, good]) {
        const got = await dying.reserve(reserveRequestOf(orgId, 20n));
        if ('refused' in got) expect.fail(got.refused);
        else ({ gatewayId } = got);
        await living.reserve(reserveRequestOf(orgId, 5n));
      }
      await Promise.all([dying.idle(), living.idle()]);
      const dead = gatewayId.split('.')[0] ?? '';
      harness.clock.advance(600_000);
      await harness.query(
        `update pot_gateways set last_seen_at = now() + interval '1 day' where gateway_id not like '${dead}%'`,
      );
      await harness.sweeps.endDead();
      await harness.stream.sink();
      const when = `new.org_id = '${toUuid(bad)}' and new.settled_at is not null`;
      const removeFault = await poisonRows(harness.database, { table: 'pot_lease_gateways', when, how });
      await harness.sweeps.settleDead();
      await removeFault();
      const settled = async (orgId: OrgId): Promise<number> => {
        const rows = await harness.query(
          `select gateway_id from pot_lease_gateways where org_id = '${toUuid(orgId)}' and given_back_at is not null`,
        );
        return rows.length;
      };
      expect([await settled(bad), await settled(good)]).toEqual([0, 1]);
    },
  );
});

describe(failingLoop('tend leases'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'whose lease request %s does not delay other leases',
    async (how) => {
      const [bad, good] = [await harness.organisation(1_000n), await harness.organisation(1_000n)];
      const requested: OrgId[] = [];
      let isStuck = false;
      const gateway = harness.gateway({
        ledger: (request) => {
          requested.push(request.orgId);
          const isFailing = isStuck && request.orgId === bad;
          return isFailing ? failingCall(how === 'hangs' ? how : 'throws') : harness.service.lease(request);
        },
      });
      for (const orgId of [bad, good]) {
        const got = await gateway.reserve(reserveRequestOf(orgId, 10n));
        if ('refused' in got) expect.fail(got.refused);
      }
      await gateway.idle();
      isStuck = true;
      await gateway.clock.advance(26_000);
      for (let round = 1; round <= 2; round += 1) {
        const isOver = gateway.maintain().then(() => true);
        while (!(await Promise.race([isOver, new Promise((resolve) => setImmediate(resolve, false))])))
          await gateway.clock.advance(100);
      }
      expect(requested.filter((orgId) => orgId === good)).toHaveLength(2);
    },
  );
});
