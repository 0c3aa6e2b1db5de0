import { getEventListeners } from 'node:events';
import {
  eventually,
  createTestDatabase,
  appendTestEvent,
  testClock,
  testIds,
  failingLoop,
  poisonRows,
  type ItemPoison,
  type Poison,
} from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { shardOf } from '@millrace/platform/outbox';
import { systemClock, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { listEventsAfter, listUnpublished } from './events.store.ts';
import { createMover, type Mover } from './move-events.ts';
import { findWaitingShards, moveEvents, recordFailure, type LeaseProof } from './outbox.store.ts';
import { eventChannels } from './events.ts';
import { publishEvents } from './publish-events.ts';
import { createShardLeases, type ShardLeases } from './shard-leases.ts';

const database = await createTestDatabase();

afterAll(() => database.drop());

async function query(text: string): Promise<Record<string, unknown>[]> {
  return (await database.query(text)).rows;
}

function write(orgId: OrgId, name: string): Promise<unknown> {
  return database.db.transaction({ name: 'write', isolation: 'read committed' }, (tx) =>
    appendTestEvent(tx, orgId, { name }),
  );
}

function leasesOf(holder: string): ShardLeases {
  return createShardLeases({ db: database.db, holder, ttlMs: 60_000 });
}

function proofOf(holder: string, leases: ShardLeases): LeaseProof {
  return { holder, leases: [...leases.held()] };
}

function moverOf(clock: Timer, batchSize = 100): Mover {
  const log = { warn: () => undefined, error: () => undefined };
  return createMover({ db: database.db, clock, log, batchSize, maxAttempts: 3 });
}

const expireAll = async () => {
  await query("update relay_leases set expires_at = now() - interval '1 second'");
  await query("update relays set expires_at = now() - interval '1 second'");
};

beforeEach(async () => {
  for (const table of ['relays', 'relay_leases', 'outbox']) await query(`delete from ${table}`);
});

const namesOf = async (orgId: OrgId) =>
  (await listEventsAfter(database.db, orgId, { after: 0, limit: 100, mode: 'live' })).map(
    (event) => event.data['name'],
  );

describe('a relay that was paused past its lease', () => {
  test('writes nothing, even before another relay claims its shards', async () => {
    const paused = leasesOf('paused');
    await paused.keep();
    const proof = proofOf('paused', paused);
    await expireAll();
    const orgId = testIds.next('org');
    await write(orgId, 'a');
    expect(await moveEvents(database.db, proof, { limitPerShard: 10 })).toBe(0);
    expect(await namesOf(orgId)).toEqual([]);
  });

  test('writes nothing after another relay took over, which continues the numbers without a gap', async () => {
    const orgId = testIds.next('org');
    const first = leasesOf('first');
    await first.keep();
    await write(orgId, 'a');
    expect(await moveEvents(database.db, proofOf('first', first), { limitPerShard: 10 })).toBe(1);

    await expireAll();
    const second = leasesOf('second');
    await second.keep();
    await write(orgId, 'b');
    // `first` still uses the leases from before its pause.
    expect(await moveEvents(database.db, proofOf('first', first), { limitPerShard: 10 })).toBe(0);
    await second.keep();
    expect(await moveEvents(database.db, proofOf('second', second), { limitPerShard: 10 })).toBe(1);
    expect(await namesOf(orgId)).toEqual(['a', 'b']);
  });

  test('gets a higher fence when it returns, because each change of holder increments the fence', async () => {
    const leases = leasesOf('again');
    await leases.keep();
    const before = proofOf('again', leases);
    await expireAll();
    await leases.keep();
    const after = proofOf('again', leases);
    expect(after.leases.every((lease) => lease.fence === 2n)).toBe(true);
    const orgId = testIds.next('org');
    await write(orgId, 'a');
    expect(await moveEvents(database.db, before, { limitPerShard: 10 })).toBe(0);
    expect(await moveEvents(database.db, after, { limitPerShard: 10 })).toBe(1);
  });
});

describe('a relay that was paused while it renewed its leases', () => {
  test('does not block other relays, because PostgreSQL aborts its transaction within the TTL', async () => {
    const { db } = database;
    let arrived = (): void => undefined;
    const holding = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    let thaw = (): void => undefined;
    const frozen = new Promise<void>((resolve) => {
      thaw = resolve;
    });
    // The process pauses just before the commit, with its row locks held.
    const pausing: Db = {
      ...db,
      transaction: (options, work) =>
        db.transaction(options, async (tx) => {
          const result = await work(tx);
          arrived();
          await frozen;
          return result;
        }),
    };
    const paused = createShardLeases({ db: pausing, holder: 'paused', ttlMs: 3_000 });
    const renew = (): Promise<unknown> => paused.keep().catch((error: unknown) => error);
    let renewing = renew();
    // A stall of the machine can end the renewal before it holds all its locks; then renew again.
    while ((await Promise.race([holding, renewing])) !== undefined) renewing = renew();
    const successor = leasesOf('heir');
    await successor.keep().finally(() => thaw());
    expect(successor.held()).toHaveLength(64);
    // The aborted transaction is retried, and finds the leases of the successor.
    await renewing;
    expect(paused.held()).toEqual([]);
  });
});

describe('shard leases', () => {
  test('are distributed evenly over the live relays and reclaimed when one stops', async () => {
    const keepers = [leasesOf('one'), leasesOf('two'), leasesOf('three')];
    for (let round = 0; round < 3; round += 1) for (const leases of keepers) await leases.keep();
    const shares = keepers.map((leases) => leases.held().length);
    expect(shares.toSorted((a, b) => a - b)).toEqual([20, 22, 22]);
    const all = keepers.flatMap((leases) => leases.held().map((lease) => lease.shard));
    expect(new Set(all).size).toBe(64);

    await keepers[0]?.release();
    for (let round = 0; round < 2; round += 1) for (const leases of keepers.slice(1)) await leases.keep();
    expect(keepers.slice(1).map((leases) => leases.held().length)).toEqual([32, 32]);
  });

  test('give each shard to one relay when many claim concurrently', async () => {
    const keepers = Array.from({ length: 6 }, (_, index) => leasesOf(`racer-${index}`));
    await Promise.all(keepers.map((leases) => leases.keep()));
    const rows = await query('select holder, count(*)::int as shards from relay_leases group by holder');
    const held = keepers.flatMap((leases) => leases.held().map((lease) => lease.shard));
    expect(held.length).toBe(new Set(held).size);
    expect(rows.reduce((sum, row) => sum + Number(row['shards']), 0)).toBe(held.length);
  });
});

describe('an event that cannot be stored', () => {
  describe(failingLoop('move events'), () => {
    test('is parked with its error after maxAttempts, without delaying other organisations', async () => {
      const leases = leasesOf('mover');
      await leases.keep();
      const mover = moverOf(systemClock);
      const failing = testIds.next('org');
      const healthy = testIds.next('org');
      await write(failing, 'before');
      await write(failing, 'poison'.padEnd(300_000, '!'));
      await write(failing, 'after');
      await write(healthy, 'unaffected');

      const moved = [];
      for (let turn = 0; turn < 4; turn += 1) moved.push(await mover.move(proofOf('mover', leases)));
      expect(moved).toEqual([2, 0, 0, 1]);
      expect(await namesOf(healthy)).toEqual(['unaffected']);
      expect(await namesOf(failing)).toEqual(['before', 'after']);
      const parked = await query(
        'select attempts, last_error, shard from outbox where parked_at is not null',
      );
      expect(parked).toHaveLength(1);
      expect(parked[0]).toMatchObject({ attempts: 3, shard: shardOf(failing) });
      expect(parked[0]?.['last_error']).toContain('events_data_is_a_bounded_object');

      // An operator repairs the row and clears the mark; the event is then processed normally.
      await query('update outbox set parked_at = null, attempts = 0, payload = \'{"name":"mended"}\'');
      expect(await mover.move(proofOf('mover', leases))).toBe(1);
      expect(await namesOf(failing)).toEqual(['before', 'after', 'mended']);
    });

    test.each<Poison>(['throws', 'times out'])(
      'whose write %s delays only its own organisation, and is moved after the fault is removed',
      async (how) => {
        const leases = leasesOf('mover');
        await leases.keep();
        const clock = testClock();
        const mover = moverOf(clock);
        const move = async () => {
          await clock.advance(1_000_000);
          await mover.move(proofOf('mover', leases));
        };
        const [bad, good] = [testIds.next('org'), testIds.next('org')];
        const when = `new.org_id = '${toUuid(bad)}'`;
        const removeFault = await poisonRows(database, { table: 'events', when, how });
        await write(bad, 'held');
        await write(good, 'one');
        await move();
        expect([await namesOf(bad), await namesOf(good)]).toEqual([[], ['one']]);
        await write(bad, 'behind');
        await write(good, 'two');
        await move();
        expect([await namesOf(bad), await namesOf(good)]).toEqual([[], ['one', 'two']]);
        await removeFault();
        await move();
        expect(await namesOf(bad)).toEqual(['held', 'behind']);
      },
    );

    test('whose write times out delays no other organisation, even with many waiting events', async () => {
      const leases = leasesOf('mover');
      await leases.keep();
      const clock = testClock();
      const mover = moverOf(clock, 5);
      const [bad, good] = [testIds.next('org'), testIds.next('org')];
      const when = `new.org_id = '${toUuid(bad)}'`;
      const removeFault = await poisonRows(database, { table: 'events', when, how: 'times out' });
      const names = Array.from({ length: 12 }, (_, nth) => `held ${nth}`);
      for (const name of names) await write(bad, name);
      for (const name of ['one', 'two']) await write(good, name);
      await mover.move(proofOf('mover', leases));
      expect([await namesOf(bad), await namesOf(good)]).toEqual([[], ['one', 'two']]);
      await removeFault();
      await clock.advance(1_000_000);
      await eventually({ what: 'all events to be moved' }, async () => {
        await mover.move(proofOf('mover', leases));
        return (await namesOf(bad)).length === names.length;
      });
      expect(await namesOf(bad)).toEqual(names);
    });

    test('whose write times out is not retried before its next attempt is due', async () => {
      const leases = leasesOf('mover');
      await leases.keep();
      const clock = testClock();
      const mover = moverOf(clock);
      const bad = Array.from({ length: 3 }, () => testIds.next('org'));
      const good = testIds.next('org');
      const when = `new.org_id in (${bad.map((orgId) => `'${toUuid(orgId)}'`).join()})`;
      const removeFault = await poisonRows(database, { table: 'events', when, how: 'times out' });
      for (const orgId of bad) await write(orgId, 'held');
      await expect(mover.move(proofOf('mover', leases))).rejects.toThrow('timeout');
      expect(mover.postponed().toSorted()).toEqual(bad.toSorted());
      // One batch, which would fail if it included a row of a postponed organisation.
      for (const name of ['one', 'two']) await write(good, name);
      expect(await mover.move(proofOf('mover', leases))).toBe(2);
      expect(await findWaitingShards(database.db, [...bad.map(shardOf)], mover.postponed())).toMatchObject({
        eventShards: [],
      });
      await removeFault();
      await clock.advance(5_000);
      expect(await mover.move(proofOf('mover', leases))).toBe(3);
    });
  });

  test('doubles the wait of its organisation although each attempt takes as long as the first wait', async () => {
    const leases = leasesOf('mover');
    await leases.keep();
    let nowMs = 0;
    const clock: Timer = {
      sleep: () => expect.fail('The mover never sleeps.'),
      after: () => expect.fail('The mover sets no timer.'),
      monotonicMs: () => {
        nowMs += 5_000;
        return nowMs;
      },
    };
    const mover = moverOf(clock);
    const bad = testIds.next('org');
    const when = `new.org_id = '${toUuid(bad)}'`;
    const removeFault = await poisonRows(database, { table: 'events', when, how: 'times out' });
    await write(bad, 'held');
    await mover.move(proofOf('mover', leases));
    await mover.move(proofOf('mover', leases));
    expect(mover.postponed()).toEqual([bad]);
    expect(mover.postponed()).toEqual([]);
    await removeFault();
  });

  test('that was already removed is not parked by recordFailure', async () => {
    const failure = { id: testIds.next('evt'), error: 'x', retryInMs: 0, maxAttempts: 1 };
    expect(await recordFailure(database.db, failure)).toEqual({ parked: false });
  });
});

describe('publishEvents', () => {
  test('takes the oldest events of every shard, so that no organisation waits behind a large backlog', async () => {
    await query('delete from events');
    const orgs = Array.from({ length: 400 }, () => testIds.next('org'));
    const [flooding] = orgs;
    if (flooding === undefined) return expect.fail('no organisation');
    const neighbour = orgs.find((orgId) => orgId > flooding && shardOf(orgId) === shardOf(flooding));
    const distant = orgs.find((orgId) => shardOf(orgId) !== shardOf(flooding));
    if (neighbour === undefined || distant === undefined) return expect.fail('no neighbours');
    const leases = leasesOf('mover');
    await leases.keep();
    for (const orgId of [neighbour, ...Array.from({ length: 12 }, () => flooding), distant]) {
      await write(orgId, 'x');
      await moveEvents(database.db, proofOf('mover', leases), { limitPerShard: 10 });
    }
    const shards = leases.held().map((lease) => lease.shard);
    const batch = await listUnpublished(database.db, shards, 4);
    expect(batch.map((event) => event.orgId).toSorted()).toEqual([neighbour, flooding, distant].toSorted());
    expect(await listUnpublished(database.db, [shardOf(flooding)], 10)).toHaveLength(10);
  });

  describe(failingLoop('publish events'), () => {
    test.each<ItemPoison>(['throws', 'hangs'])(
      'publishes other events when the publication of one %s',
      async (how) => {
        await query('delete from events');
        const [bad, good] = [testIds.next('org'), testIds.next('org')];
        const leases = leasesOf('publisher');
        await leases.keep();
        for (const orgId of [bad, good]) await write(orgId, 'x');
        await moveEvents(database.db, proofOf('publisher', leases), { limitPerShard: 10 });
        const channels = eventChannels();
        const published: string[] = [];
        const others = Promise.withResolvers<void>();
        const nats = {
          publish: async (subject: string) => {
            if (subject.includes(bad)) {
              // Reject only after the other event was published.
              if (how === 'hangs') await others.promise;
              throw new Error('This event was not published.');
            }
            published.push(subject);
            others.resolve();
          },
        };
        const { signal } = new AbortController();
        const options = {
          db: database.db,
          nats: nats as never,
          channels,
          batchSize: 10,
          publishTimeoutMs: 100,
          signal,
        };
        const shards = leases.held().map((lease) => lease.shard);
        await expect(publishEvents(options, shards)).rejects.toThrow('did not acknowledge 1 of 2');
        expect(published).toHaveLength(1);
        const left = await listUnpublished(database.db, shards, 10);
        expect(left.map(({ orgId }) => orgId)).toEqual([bad]);
      },
    );
  });

  test('removes its listeners from the signal of the relay after each turn', async () => {
    await query('delete from events');
    const { signal } = new AbortController();
    const nats = { publish: () => Promise.reject(new Error('nothing waits to be published')) };
    const options = {
      db: database.db,
      nats,
      channels: eventChannels(),
      batchSize: 10,
      publishTimeoutMs: 100,
    };
    for (let turn = 0; turn < 3; turn += 1) await publishEvents({ ...options, signal }, [0]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
