import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { databaseWithClock, failingLoop, poisonRows, uniqueId, type Poison } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { createDeferredUsageCharger } from './usage/deferred-usage.service.ts';
import { SharedTimeout, processMessages, type SinkMessage } from './usage/sink.service.ts';
import { createKey, createUsageHarness, type TestLease } from './usage.fixture.ts';
import type { UsageEvent } from './usage/usage-event.ts';

const harness = await createUsageHarness();
afterAll(() => harness[Symbol.asyncDispose]());

const many = (granted: TestLease, count: number): UsageEvent[] =>
  Array.from({ length: count }, () => harness.event(granted));

const message = (sequence: number, ...events: readonly unknown[]): SinkMessage => ({
  sequence,
  subject: 'usage.1.batch',
  text: () => JSON.stringify({ events }),
});

const sum = (events: readonly UsageEvent[]): bigint =>
  events.reduce((total, { amountNanoUsd }) => total + BigInt(amountNanoUsd), 0n);

const deferredOf = (stream: string) =>
  harness.query(`select seq, position from usage_deferred where stream = '${stream}' order by seq, position`);

const closeHold = (granted: TestLease) =>
  harness.query(
    `update ledger_holds set held_nano_usd = 0, closed_at = now()
      where id = (select hold_id from pot_leases where id = '${toUuid(granted.leaseId)}')`,
  );

/** Another lease of the same organisation, whose first lease is closing. */
async function leaseAgain({ orgId }: TestLease): Promise<TestLease> {
  await harness.query(
    `update pot_leases set state = 'closing', closing_at = now() where org_id = '${toUuid(orgId)}' and state = 'open'`,
  );
  const gatewayId = `gw-${uniqueId()}.1`;
  const amount = 1_000_000n;
  const request = { orgId, mode: 'live', cell: 1, gatewayId, seen: null, budgets: [] } as const;
  const reply = await harness.service.lease({ ...request, shortage: amount, wanted: amount });
  if (reply.outcome !== 'leased') throw new Error(`No lease: ${reply.reason}.`);
  return { orgId, gatewayId, leaseId: reply.leaseId };
}

/** At a later time, so that every postponed attempt is due. */
async function chargeDeferred(): Promise<void> {
  const db = databaseWithClock(harness.db, { nowMs: () => systemClock.nowMs() + 3_600_000 });
  await createDeferredUsageCharger({ db, log: createLogger({ name: 'test', level: 'silent' }) }).step();
}

describe(failingLoop('work through usage'), () => {
  it('whose hold is closed is deferred and does not stop the usage of other organisations', async () => {
    const [granted, bad] = [await harness.grant(), await harness.grant()];
    const good = many(granted, 2);
    const lost = many(bad, 1);
    await closeHold(bad);
    const messages = [message(1, good[0], lost[0]), message(2, good[1])];
    const result = await processMessages(harness.db, 'NO_HOLD', messages);
    expect(result).toMatchObject({ passed: 2n, recorded: 2, unreadable: 0, deferred: 1 });
    expect([await harness.charged(granted.orgId), await harness.charged(bad.orgId)]).toEqual([sum(good), 0n]);
    expect(await deferredOf('NO_HOLD')).toEqual([{ seq: '1', position: 1 }]);
  });

  it('whose charge always times out is deferred and does not stop the usage of other organisations', async () => {
    const [granted, bad] = [await harness.grant(), await harness.grant()];
    const good = many(granted, 3);
    const heal = await poisonRows(harness.database, {
      table: 'usage_charges',
      when: `new.org_id = '${toUuid(bad.orgId)}'`,
      how: 'times out',
    });
    try {
      const [first, second] = many(bad, 2);
      const result = await processMessages(harness.db, 'LATE', [
        message(1, good[0], first),
        message(2, good[1]),
      ]);
      expect(result).toMatchObject({ passed: 2n, recorded: 2, charged: sum(good.slice(0, 2)), deferred: 1 });
      // The next batch does not try the organisation again: its usage is deferred behind the earlier rows.
      const next = await processMessages(harness.db, 'LATE', [message(3, second, good[2])]);
      expect(next).toMatchObject({ passed: 3n, recorded: 1, deferred: 1 });
    } finally {
      await heal();
    }
    expect([await harness.charged(granted.orgId), await harness.charged(bad.orgId)]).toEqual([sum(good), 0n]);
    expect(await deferredOf('LATE')).toEqual([
      { seq: '1', position: 1 },
      { seq: '3', position: 0 },
    ]);
  });

  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not stop usage of other organisations',
    async (how) => {
      const [granted, bad] = [await harness.grant(), await harness.grant()];
      const good = many(granted, 2);
      const when = `new.org_id = '${toUuid(bad.orgId)}'`;
      const heal = await poisonRows(harness.database, { table: 'usage_charges', when, how });
      try {
        const messages = [message(1, good[0], ...many(bad, 1)), message(2, good[1])];
        const result = await processMessages(harness.db, `WRITE-${uniqueId()}`, messages);
        expect(result).toMatchObject({ passed: 2n, recorded: 2, charged: sum(good) });
      } finally {
        await heal();
      }
      expect([await harness.charged(granted.orgId), await harness.charged(bad.orgId)]).toEqual([
        sum(good),
        0n,
      ]);
    },
  );

  it('whose end marker cannot be written is deferred and does not stop the usage of other organisations', async () => {
    const [granted, bad] = [await harness.grant(), await harness.grant()];
    const [good] = many(granted, 1);
    const end = {
      orgId: bad.orgId,
      mode: 'live',
      cell: 1,
      gatewayId: bad.gatewayId,
      throughEpoch: '1000',
    };
    const heal = await poisonRows(harness.database, {
      table: 'pot_lease_gateways',
      when: `new.lease_id = '${toUuid(bad.leaseId)}'`,
      how: 'times out',
    });
    const ending = { sequence: 1, subject: 'usage.1.end', text: () => JSON.stringify(end) };
    try {
      const result = await processMessages(harness.db, 'END', [ending, message(2, good)]);
      expect(result).toMatchObject({ passed: 2n, recorded: 1, deferred: 1 });
    } finally {
      await heal();
    }
    await chargeDeferred();
    expect(
      await harness.query(
        `select ended_stream from pot_lease_gateways where lease_id = '${toUuid(bad.leaseId)}'`,
      ),
    ).toEqual([{ ended_stream: 'END' }]);
  });

  it('whose stream row is locked makes the sink throw and defers nothing', async () => {
    const granted = await harness.grant();
    const event = harness.event(granted);
    await processMessages(harness.db, 'LOCKED', [message(1, harness.event(granted))]);
    const heal = await poisonRows(harness.database, {
      table: 'usage_watermarks',
      when: `new.stream = 'LOCKED'`,
      how: 'times out',
    });
    try {
      await expect(processMessages(harness.db, 'LOCKED', [message(2, event)])).rejects.toThrow('timeout');
    } finally {
      await heal();
    }
    expect(await deferredOf('LOCKED')).toEqual([]);
    await processMessages(harness.db, 'LOCKED', [message(2, event)]);
    expect(await harness.request(event.requestId)).toMatchObject({ outcome: 'charged' });
  });

  it('whose stream row is locked only once defers no organisation', async () => {
    const granted = await harness.grant();
    const event = harness.event(granted);
    // A sequence is not rolled back, so only the first attempt fails.
    await harness.query('create sequence lock_attempts; grant usage on lock_attempts to public');
    const heal = await poisonRows(harness.database, {
      table: 'usage_watermarks',
      when: `new.stream = 'LOCKED-ONCE' and nextval('lock_attempts') = 1`,
      how: 'times out',
    });
    try {
      const sinking = processMessages(harness.db, 'LOCKED-ONCE', [message(1, event)]);
      await expect(sinking).rejects.toThrow(SharedTimeout);
    } finally {
      await heal();
    }
    expect(await deferredOf('LOCKED-ONCE')).toEqual([]);
    const result = await processMessages(harness.db, 'LOCKED-ONCE', [message(1, event)]);
    expect(result).toMatchObject({ recorded: 1, deferred: 0 });
  });

  it('whose organisations all time out is repeated, and deferred only with whenAllTimeOut: defer', async () => {
    const events = [harness.event(await harness.grant()), harness.event(await harness.grant())];
    const ids = events.map(({ orgId }) => `'${toUuid(orgId as never)}'`);
    const when = `new.org_id in (${ids.join()})`;
    const heal = await poisonRows(harness.database, { table: 'usage_charges', when, how: 'times out' });
    try {
      const sinking = processMessages(harness.db, 'ALL', [message(1, ...events)]);
      await expect(sinking).rejects.toThrow('all 2 organisations that were tried timed out');
      expect(await deferredOf('ALL')).toEqual([]);
      const result = await processMessages(harness.db, 'ALL', [message(1, ...events)], {
        whenAllTimeOut: 'defer',
      });
      expect(result).toMatchObject({ passed: 1n, deferred: 2 });
    } finally {
      await heal();
    }
  });

  it('whose key row cannot be written is still charged', async () => {
    const granted = await harness.grant();
    const keyId = await createKey(harness, granted.orgId);
    const heal = await poisonRows(harness.database, {
      table: 'api_keys',
      when: `new.id = '${toUuid(keyId)}'`,
      how: 'times out',
    });
    try {
      const result = await processMessages(harness.db, 'KEY-LOCKED', [
        message(1, harness.event(granted, { keyId })),
      ]);
      expect(result).toMatchObject({ recorded: 1, deferred: 0 });
    } finally {
      await heal();
    }
  });
});

describe(failingLoop('charge deferred usage'), () => {
  it('of one organisation stays deferred, and the usage of others is charged once', async () => {
    const [granted, bad] = [await harness.grant(), await harness.grant()];
    const late = many(granted, 3);
    const when = `new.org_id in ('${toUuid(granted.orgId)}', '${toUuid(bad.orgId)}')`;
    const heal = await poisonRows(harness.database, { table: 'usage_charges', when, how: 'times out' });
    try {
      await processMessages(harness.db, 'DEFERRED', [message(1, ...late, late[0])]);
      await processMessages(harness.db, 'DEFERRED', [message(2, ...many(bad, 2))]);
    } finally {
      await heal();
    }
    expect(await harness.charged(granted.orgId)).toBe(0n);
    await closeHold(bad);
    await chargeDeferred();
    await chargeDeferred();
    expect([await harness.charged(granted.orgId), await harness.charged(bad.orgId)]).toEqual([sum(late), 0n]);
    expect(await deferredOf('DEFERRED')).toHaveLength(2);
    for (const { requestId } of late) {
      expect(await harness.request(requestId)).toMatchObject({ outcome: 'charged', source: 'final' });
    }
  });

  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not delay other organisations, and is charged later or quarantined',
    async (how) => {
      const [granted, bad] = [await harness.grant(), await harness.grant()];
      const [late, stuck] = [many(granted, 2), many(bad, 2)];
      const stream = `WRITE-${uniqueId()}`;
      const ofBoth = `new.org_id in ('${toUuid(granted.orgId)}', '${toUuid(bad.orgId)}')`;
      const heal = await poisonRows(harness.database, {
        table: 'usage_charges',
        when: ofBoth,
        how: 'times out',
      });
      await processMessages(harness.db, stream, [message(1, ...late, ...stuck)], { whenAllTimeOut: 'defer' });
      await heal();
      const when = `new.org_id = '${toUuid(bad.orgId)}'`;
      const healBad = await poisonRows(harness.database, { table: 'usage_charges', when, how });
      await chargeDeferred();
      await healBad();
      expect([await harness.charged(granted.orgId), await harness.charged(bad.orgId)]).toEqual([
        sum(late),
        0n,
      ]);
      await harness.query(`delete from loop_items where loop = 'charge deferred usage'`);
      await chargeDeferred();
      // Usage that the database rejects is quarantined for an operator; usage whose write timed out is charged.
      const quarantined = await harness.query(`select 1 from usage_unreadable where stream = '${stream}'`);
      expect([await harness.charged(bad.orgId), quarantined.length]).toEqual(
        how === 'throws' ? [0n, stuck.length] : [sum(stuck), 0],
      );
    },
  );

  it('of one request does not stop the other requests of its organisation', async () => {
    const granted = await harness.grant();
    const events = many(granted, 6);
    const stuck = events.slice(0, 4).map(({ requestId }) => `'${toUuid(requestId as never)}'`);
    const poison = (when: string) =>
      poisonRows(harness.database, { table: 'usage_charges', when, how: 'times out' });
    const heal = await poison(`new.org_id = '${toUuid(granted.orgId)}'`);
    await processMessages(harness.db, 'STUCK', [message(1, ...events)]);
    await heal();
    const healStuck = await poison(`new.request_id in (${stuck.join()})`);
    try {
      // The first attempt ends after three failures; the failed rows then move behind the others.
      await chargeDeferred();
      await harness.query(`delete from loop_items where loop = 'charge deferred usage'`);
      await chargeDeferred();
      expect(await harness.charged(granted.orgId)).toBe(sum(events.slice(4)));
    } finally {
      await healStuck();
    }
    await harness.query(`delete from loop_items where loop = 'charge deferred usage'`);
    await chargeDeferred();
    expect(await harness.charged(granted.orgId)).toBe(sum(events));
  });

  it('of one lease does not delay usage of another lease of its organisation', async () => {
    const bad = await harness.grant();
    const good = await leaseAgain(bad);
    const heal = await poisonRows(harness.database, {
      table: 'usage_charges',
      when: `new.org_id = '${toUuid(bad.orgId)}'`,
      how: 'times out',
    });
    const late = harness.event(good);
    try {
      // More failing rows than one attempt tries, all before the row of the other lease.
      await processMessages(harness.db, 'LEASES', [message(1, ...many(bad, 5)), message(2, late)]);
    } finally {
      await heal();
    }
    await closeHold(bad);
    await chargeDeferred();
    expect(await harness.request(late.requestId)).toMatchObject({ outcome: 'charged' });
    // The other lease has no deferred usage any more, so the sink charges it at once.
    const next = harness.event(good);
    const result = await processMessages(harness.db, 'LEASES', [message(3, next)]);
    expect(result).toMatchObject({ recorded: 1, deferred: 0 });
    expect(await harness.charged(bad.orgId)).toBe(sum([late, next]));
    expect(await deferredOf('LEASES')).toHaveLength(5);
  });

  it('keeps its lease open until it is charged', async () => {
    await using late = await createUsageHarness();
    const granted = await late.grant();
    const event = late.event(granted);
    const heal = await poisonRows(late.database, {
      table: 'usage_charges',
      when: `new.org_id = '${toUuid(granted.orgId)}'`,
      how: 'times out',
    });
    const end = { ...granted, mode: 'live', cell: 1, throughEpoch: '1000' };
    const ending = { sequence: 2, subject: 'usage.1.end', text: () => JSON.stringify(end) };
    await processMessages(late.db, 'OPEN', [message(1, event), ending]);
    await heal();
    await late.query(`update pot_leases set state = 'closing', closing_at = now()`);
    // Also if the end marker was processed before the usage.
    await late.query(`update pot_lease_gateways set ended_stream = 'OPEN', ended_at_seq = 2`);
    expect(await late.sweeps.closePassed()).toBe(0);
    const db = databaseWithClock(late.db, { nowMs: () => systemClock.nowMs() + 3_600_000 });
    await createDeferredUsageCharger({ db, log: createLogger({ name: 'test', level: 'silent' }) }).step();
    expect(await late.charged(granted.orgId)).toBe(sum([event]));
    expect(await late.sweeps.closePassed()).toBe(1);
  });
});
