import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { databaseWithClock, poisonedLoop, poisonRows, uniqueId, type Poison } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDeferredUsageCharger } from './usage/deferred-usage.service.ts';
import { SharedTimeout, processMessages, type SinkMessage } from './usage/sink.service.ts';
import { createKey, createUsageHarness, type TestLease, type UsageHarness } from './usage.fixture.ts';
import type { UsageEvent } from './usage/usage-event.ts';

let world: UsageHarness;
beforeAll(async () => {
  world = await createUsageHarness();
});
afterAll(() => world[Symbol.asyncDispose]());

const many = (lent: TestLease, count: number): UsageEvent[] =>
  Array.from({ length: count }, () => world.event(lent));

const message = (sequence: number, ...events: readonly unknown[]): SinkMessage => ({
  sequence,
  subject: 'usage.1.batch',
  text: () => JSON.stringify({ events }),
});

const sum = (events: readonly UsageEvent[]): bigint =>
  events.reduce((total, { amountNanoUsd }) => total + BigInt(amountNanoUsd), 0n);

const deferredOf = (stream: string) =>
  world.query(`select seq, position from usage_deferred where stream = '${stream}' order by seq, position`);

const closeHold = (lent: TestLease) =>
  world.query(
    `update ledger_holds set held_nano_usd = 0, closed_at = now()
      where id = (select hold_id from pot_leases where id = '${toUuid(lent.leaseId)}')`,
  );

/** A further lease of the same organisation: its first one is being closed. */
async function lendAgain({ orgId }: TestLease): Promise<TestLease> {
  await world.query(
    `update pot_leases set state = 'closing', closing_at = now() where org_id = '${toUuid(orgId)}' and state = 'open'`,
  );
  const gatewayId = `gw-${uniqueId()}.1`;
  const amount = 1_000_000n;
  const asked = { orgId, mode: 'live', cell: 1, gatewayId, seen: null, budgets: [] } as const;
  const reply = await world.service.lease({ ...asked, shortage: amount, wanted: amount });
  if (reply.outcome !== 'leased') throw new Error(`No lease: ${reply.reason}.`);
  return { orgId, gatewayId, leaseId: reply.leaseId };
}

/** At a later time, so that no organisation waits for its next attempt. */
async function chargeDeferred(): Promise<void> {
  const db = databaseWithClock(world.db, { nowMs: () => systemClock.nowMs() + 3_600_000 });
  await createDeferredUsageCharger({ db, log: createLogger({ name: 'test', level: 'silent' }) }).step();
}

describe(poisonedLoop('work through usage'), () => {
  it('for which the ledger has no open hold is deferred, and does not stop the usage of others', async () => {
    const [lent, bad] = [await world.lend(), await world.lend()];
    const good = many(lent, 2);
    const lost = many(bad, 1);
    await closeHold(bad);
    const messages = [message(1, good[0], lost[0]), message(2, good[1])];
    const sunk = await processMessages(world.db, 'NO_HOLD', messages);
    expect(sunk).toMatchObject({ passed: 2n, recorded: 2, unreadable: 0, deferred: 1 });
    expect([await world.charged(lent.orgId), await world.charged(bad.orgId)]).toEqual([sum(good), 0n]);
    expect(await deferredOf('NO_HOLD')).toEqual([{ seq: '1', position: 1 }]);
  });

  it('whose charge always times out is deferred, and does not stop the usage of others', async () => {
    const [lent, bad] = [await world.lend(), await world.lend()];
    const good = many(lent, 3);
    const heal = await poisonRows(world.database, {
      table: 'usage_charges',
      when: `new.org_id = '${toUuid(bad.orgId)}'`,
      how: 'times out',
    });
    try {
      const [first, second] = many(bad, 2);
      const sunk = await processMessages(world.db, 'LATE', [message(1, good[0], first), message(2, good[1])]);
      expect(sunk).toMatchObject({ passed: 2n, recorded: 2, charged: sum(good.slice(0, 2)), deferred: 1 });
      // The next batch does not try the organisation again: its usage goes behind what is deferred already.
      const next = await processMessages(world.db, 'LATE', [message(3, second, good[2])]);
      expect(next).toMatchObject({ passed: 3n, recorded: 1, deferred: 1 });
    } finally {
      await heal();
    }
    expect([await world.charged(lent.orgId), await world.charged(bad.orgId)]).toEqual([sum(good), 0n]);
    expect(await deferredOf('LATE')).toEqual([
      { seq: '1', position: 1 },
      { seq: '3', position: 0 },
    ]);
  });

  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not stop the usage of other organisations',
    async (how) => {
      const [lent, bad] = [await world.lend(), await world.lend()];
      const good = many(lent, 2);
      const when = `new.org_id = '${toUuid(bad.orgId)}'`;
      const heal = await poisonRows(world.database, { table: 'usage_charges', when, how });
      try {
        const messages = [message(1, good[0], ...many(bad, 1)), message(2, good[1])];
        const sunk = await processMessages(world.db, `WRITE-${uniqueId()}`, messages);
        expect(sunk).toMatchObject({ passed: 2n, recorded: 2, charged: sum(good) });
      } finally {
        await heal();
      }
      expect([await world.charged(lent.orgId), await world.charged(bad.orgId)]).toEqual([sum(good), 0n]);
    },
  );

  it('whose gateway end cannot be written is deferred, and does not stop the usage of others', async () => {
    const [lent, bad] = [await world.lend(), await world.lend()];
    const [good] = many(lent, 1);
    const end = {
      orgId: bad.orgId,
      mode: 'live',
      cell: 1,
      gatewayId: bad.gatewayId,
      throughEpoch: '1000',
    };
    const heal = await poisonRows(world.database, {
      table: 'pot_lease_gateways',
      when: `new.lease_id = '${toUuid(bad.leaseId)}'`,
      how: 'times out',
    });
    const ending = { sequence: 1, subject: 'usage.1.end', text: () => JSON.stringify(end) };
    try {
      const sunk = await processMessages(world.db, 'END', [ending, message(2, good)]);
      expect(sunk).toMatchObject({ passed: 2n, recorded: 1, deferred: 1 });
    } finally {
      await heal();
    }
    await chargeDeferred();
    expect(
      await world.query(
        `select ended_stream from pot_lease_gateways where lease_id = '${toUuid(bad.leaseId)}'`,
      ),
    ).toEqual([{ ended_stream: 'END' }]);
  });

  it('throws when the row of the stream itself is locked, and defers nothing', async () => {
    const lent = await world.lend();
    const event = world.event(lent);
    await processMessages(world.db, 'LOCKED', [message(1, world.event(lent))]);
    const heal = await poisonRows(world.database, {
      table: 'usage_watermarks',
      when: `new.stream = 'LOCKED'`,
      how: 'times out',
    });
    try {
      await expect(processMessages(world.db, 'LOCKED', [message(2, event)])).rejects.toThrow('timeout');
    } finally {
      await heal();
    }
    expect(await deferredOf('LOCKED')).toEqual([]);
    await processMessages(world.db, 'LOCKED', [message(2, event)]);
    expect(await world.request(event.requestId)).toMatchObject({ outcome: 'charged' });
  });

  it('defers no organisation for a lock of the stream that ends before the next attempt', async () => {
    const lent = await world.lend();
    const event = world.event(lent);
    // Not undone by a rollback, so only the first attempt fails.
    await world.query('create sequence lock_attempts; grant usage on lock_attempts to public');
    const heal = await poisonRows(world.database, {
      table: 'usage_watermarks',
      when: `new.stream = 'LOCKED-ONCE' and nextval('lock_attempts') = 1`,
      how: 'times out',
    });
    try {
      const sinking = processMessages(world.db, 'LOCKED-ONCE', [message(1, event)]);
      await expect(sinking).rejects.toThrow(SharedTimeout);
    } finally {
      await heal();
    }
    expect(await deferredOf('LOCKED-ONCE')).toEqual([]);
    const sunk = await processMessages(world.db, 'LOCKED-ONCE', [message(1, event)]);
    expect(sunk).toMatchObject({ recorded: 1, deferred: 0 });
  });

  it('repeats a batch whose organisations all time out, and defers it only when told to', async () => {
    const events = [world.event(await world.lend()), world.event(await world.lend())];
    const ids = events.map(({ orgId }) => `'${toUuid(orgId as never)}'`);
    const when = `new.org_id in (${ids.join()})`;
    const heal = await poisonRows(world.database, { table: 'usage_charges', when, how: 'times out' });
    try {
      const sinking = processMessages(world.db, 'ALL', [message(1, ...events)]);
      await expect(sinking).rejects.toThrow('all 2 organisations that were tried timed out');
      expect(await deferredOf('ALL')).toEqual([]);
      const sunk = await processMessages(world.db, 'ALL', [message(1, ...events)], {
        whenAllTimeOut: 'defer',
      });
      expect(sunk).toMatchObject({ passed: 1n, deferred: 2 });
    } finally {
      await heal();
    }
  });

  it('charges usage while the row of its key cannot be written', async () => {
    const lent = await world.lend();
    const keyId = await createKey(world, lent.orgId);
    const heal = await poisonRows(world.database, {
      table: 'api_keys',
      when: `new.id = '${toUuid(keyId)}'`,
      how: 'times out',
    });
    try {
      const sunk = await processMessages(world.db, 'KEY-LOCKED', [message(1, world.event(lent, { keyId }))]);
      expect(sunk).toMatchObject({ recorded: 1, deferred: 0 });
    } finally {
      await heal();
    }
  });
});

describe(poisonedLoop('charge deferred usage'), () => {
  it('of one organisation stays deferred, and the usage of others is charged once', async () => {
    const [lent, bad] = [await world.lend(), await world.lend()];
    const late = many(lent, 3);
    const when = `new.org_id in ('${toUuid(lent.orgId)}', '${toUuid(bad.orgId)}')`;
    const heal = await poisonRows(world.database, { table: 'usage_charges', when, how: 'times out' });
    try {
      await processMessages(world.db, 'DEFERRED', [message(1, ...late, late[0])]);
      await processMessages(world.db, 'DEFERRED', [message(2, ...many(bad, 2))]);
    } finally {
      await heal();
    }
    expect(await world.charged(lent.orgId)).toBe(0n);
    await closeHold(bad);
    await chargeDeferred();
    await chargeDeferred();
    expect([await world.charged(lent.orgId), await world.charged(bad.orgId)]).toEqual([sum(late), 0n]);
    expect(await deferredOf('DEFERRED')).toHaveLength(2);
    for (const { requestId } of late) {
      expect(await world.request(requestId)).toMatchObject({ outcome: 'charged', source: 'final' });
    }
  });

  it.each<Poison>(['throws', 'times out'])(
    'whose write %s delays no usage of other organisations, and is charged later or put aside',
    async (how) => {
      const [lent, bad] = [await world.lend(), await world.lend()];
      const [late, stuck] = [many(lent, 2), many(bad, 2)];
      const stream = `WRITE-${uniqueId()}`;
      const ofBoth = `new.org_id in ('${toUuid(lent.orgId)}', '${toUuid(bad.orgId)}')`;
      const heal = await poisonRows(world.database, {
        table: 'usage_charges',
        when: ofBoth,
        how: 'times out',
      });
      await processMessages(world.db, stream, [message(1, ...late, ...stuck)], { whenAllTimeOut: 'defer' });
      await heal();
      const when = `new.org_id = '${toUuid(bad.orgId)}'`;
      const healBad = await poisonRows(world.database, { table: 'usage_charges', when, how });
      await chargeDeferred();
      await healBad();
      expect([await world.charged(lent.orgId), await world.charged(bad.orgId)]).toEqual([sum(late), 0n]);
      await world.query(`delete from loop_items where loop = 'charge deferred usage'`);
      await chargeDeferred();
      // Usage that the database refuses is put aside for an operator; usage whose write timed out is charged.
      const aside = await world.query(`select 1 from usage_unreadable where stream = '${stream}'`);
      expect([await world.charged(bad.orgId), aside.length]).toEqual(
        how === 'throws' ? [0n, stuck.length] : [sum(stuck), 0],
      );
    },
  );

  it('of one request does not stop the other requests of its organisation', async () => {
    const lent = await world.lend();
    const events = many(lent, 6);
    const stuck = events.slice(0, 4).map(({ requestId }) => `'${toUuid(requestId as never)}'`);
    const poison = (when: string) =>
      poisonRows(world.database, { table: 'usage_charges', when, how: 'times out' });
    const heal = await poison(`new.org_id = '${toUuid(lent.orgId)}'`);
    await processMessages(world.db, 'STUCK', [message(1, ...events)]);
    await heal();
    const healStuck = await poison(`new.request_id in (${stuck.join()})`);
    try {
      // The first attempt ends after three failures; the failed rows then stand behind the others.
      await chargeDeferred();
      await world.query(`delete from loop_items where loop = 'charge deferred usage'`);
      await chargeDeferred();
      expect(await world.charged(lent.orgId)).toBe(sum(events.slice(4)));
    } finally {
      await healStuck();
    }
    await world.query(`delete from loop_items where loop = 'charge deferred usage'`);
    await chargeDeferred();
    expect(await world.charged(lent.orgId)).toBe(sum(events));
  });

  it('of one lease delays no usage of another lease of its organisation', async () => {
    const bad = await world.lend();
    const good = await lendAgain(bad);
    const heal = await poisonRows(world.database, {
      table: 'usage_charges',
      when: `new.org_id = '${toUuid(bad.orgId)}'`,
      how: 'times out',
    });
    const late = world.event(good);
    try {
      // More failing rows than one visit tries, all before the row of the other lease.
      await processMessages(world.db, 'LEASES', [message(1, ...many(bad, 5)), message(2, late)]);
    } finally {
      await heal();
    }
    await closeHold(bad);
    await chargeDeferred();
    expect(await world.request(late.requestId)).toMatchObject({ outcome: 'charged' });
    // The other lease has no deferred usage any more, so the sink charges it at once.
    const next = world.event(good);
    const sunk = await processMessages(world.db, 'LEASES', [message(3, next)]);
    expect(sunk).toMatchObject({ recorded: 1, deferred: 0 });
    expect(await world.charged(bad.orgId)).toBe(sum([late, next]));
    expect(await deferredOf('LEASES')).toHaveLength(5);
  });

  it('keeps its lease open until it is charged', async () => {
    await using late = await createUsageHarness();
    const lent = await late.lend();
    const event = late.event(lent);
    const heal = await poisonRows(late.database, {
      table: 'usage_charges',
      when: `new.org_id = '${toUuid(lent.orgId)}'`,
      how: 'times out',
    });
    const end = { ...lent, mode: 'live', cell: 1, throughEpoch: '1000' };
    const ending = { sequence: 2, subject: 'usage.1.end', text: () => JSON.stringify(end) };
    await processMessages(late.db, 'OPEN', [message(1, event), ending]);
    await heal();
    await late.query(`update pot_leases set state = 'closing', closing_at = now()`);
    // Also when the end itself has been worked in before the usage.
    await late.query(`update pot_lease_gateways set ended_stream = 'OPEN', ended_at_seq = 2`);
    expect(await late.sweeps.closePassed()).toBe(0);
    const db = databaseWithClock(late.db, { nowMs: () => systemClock.nowMs() + 3_600_000 });
    await createDeferredUsageCharger({ db, log: createLogger({ name: 'test', level: 'silent' }) }).step();
    expect(await late.charged(lent.orgId)).toBe(sum([event]));
    expect(await late.sweeps.closePassed()).toBe(1);
  });
});
