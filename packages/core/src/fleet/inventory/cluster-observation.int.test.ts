import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFleetHarness, MINUTE_MS, node, SECOND_MS, type FleetHarness } from '../fleet.fixture.ts';
import type { FleetSync, PollResult } from '../index.ts';

let harness: FleetHarness;

beforeEach(async () => {
  harness = await createFleetHarness();
});
afterEach(() => harness.drop());

const ready = { n1: 'node_ready', n2: 'node_ready' };
const offline = { n1: 'node_offline', n2: 'node_offline' };

/** Configures two clusters with one node each and polls both once. */
async function begin(sync: FleetSync): Promise<void> {
  harness.engine('a').nodes = [node('n1')];
  harness.engine('b').nodes = [node('n2')];
  await harness.configure('a', 'b');
  await sync.tick();
  await lookAtAll(sync);
  expect(await harness.statuses()).toEqual(ready);
}

async function lookAtAll(sync: FleetSync): Promise<PollResult['outcome'][]> {
  const held = await sync.tick();
  const outcomes: PollResult['outcome'][] = [];
  for (const id of held) outcomes.push((await sync.look(id)).outcome);
  return outcomes;
}

/** Advances the clock while the worker sends heartbeats and polls. */
async function watchFor(sync: FleetSync, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10 * SECOND_MS) {
    await harness.clock.advance(10 * SECOND_MS);
    await lookAtAll(sync);
  }
}

const dead = (): void => {
  harness.engine('a').nodes = null;
  harness.engine('b').nodes = null;
};

it('a cluster without a response for 90 s becomes silent, its nodes go offline and are not sold, and one response restores them', async () => {
  const sync = harness.worker('one');
  await begin(sync);
  harness.engine('a').nodes = null;
  await watchFor(sync, 80 * SECOND_MS);
  expect(await harness.statuses()).toEqual(ready);
  await watchFor(sync, 10 * SECOND_MS);
  expect(await harness.statuses()).toEqual({ n1: 'node_offline', n2: 'node_ready' });
  expect(await harness.cluster('a')).toMatchObject({
    status: 'silent',
    statusReason: 'The engine does not answer.',
  });
  expect(await harness.rows('select ready, open from node_capacity order by ready')).toEqual([
    { ready: false, open: false },
    { ready: true, open: true },
  ]);
  harness.engine('a').nodes = [node('n1')];
  await watchFor(sync, 10 * SECOND_MS);
  expect(await harness.statuses()).toEqual(ready);
  expect(await harness.rows('select distinct ready, open from node_capacity')).toEqual([
    { ready: true, open: true },
  ]);
  expect(await harness.cluster('a')).toMatchObject({ status: 'connected', statusReason: null });
});

it('no node goes offline when a worker returns after a 10-minute stop', async () => {
  const sync = harness.worker('one');
  await begin(sync);
  await harness.clock.advance(10 * MINUTE_MS);
  // Also if the first poll after the return fails.
  dead();
  expect(await lookAtAll(sync)).toEqual(['waiting', 'waiting']);
  expect(await harness.statuses()).toEqual(ready);
  harness.engine('a').nodes = [node('n1')];
  harness.engine('b').nodes = [node('n2')];
  await watchFor(sync, 10 * SECOND_MS);
  expect(await harness.statuses()).toEqual(ready);
  expect(await harness.rows(`select count(*)::int as moves from node_transitions where seq > 2`)).toEqual([
    { moves: 0 },
  ]);
});

it('an engine that died while the worker was stopped becomes silent after 90 s of new polling, and no other engine does', async () => {
  const sync = harness.worker('one');
  await begin(sync);
  await harness.clock.advance(10 * MINUTE_MS);
  harness.engine('a').nodes = null;
  await lookAtAll(sync);
  await watchFor(sync, 80 * SECOND_MS);
  expect(await harness.statuses()).toEqual(ready);
  await watchFor(sync, 10 * SECOND_MS);
  expect(await harness.statuses()).toEqual({ n1: 'node_offline', n2: 'node_ready' });
});

it('a new worker process counts 90 s of its own polling, like a worker that was paused', async () => {
  await begin(harness.worker('one'));
  await harness.clock.advance(10 * MINUTE_MS);
  dead();
  const sync = harness.worker('two');
  expect(await lookAtAll(sync)).toEqual(['waiting', 'waiting']);
  await watchFor(sync, 80 * SECOND_MS);
  expect(await harness.statuses()).toEqual(ready);
  await watchFor(sync, 10 * SECOND_MS);
  expect(await harness.statuses()).toEqual(offline);
});

it('a worker takes over the clusters of a dead worker and counts silence only from its own polling', async () => {
  const one = harness.worker('one');
  const two = harness.worker('two');
  await begin(one);
  await two.tick();
  expect(await one.tick()).toHaveLength(1);
  expect(await two.tick()).toHaveLength(1);
  // The first worker and all engines die at the same time.
  dead();
  await watchFor(two, 80 * SECOND_MS);
  expect(await two.tick()).toHaveLength(2);
  await watchFor(two, 10 * SECOND_MS);
  const statuses = Object.values(await harness.statuses()).toSorted();
  expect(statuses).toEqual(['node_offline', 'node_ready']);
  await watchFor(two, 40 * SECOND_MS);
  expect(await harness.statuses()).toEqual(offline);
});

it('a worker that stops hands its clusters over without a gap, so silence continues to count', async () => {
  const one = harness.worker('one');
  const two = harness.worker('two');
  await begin(one);
  dead();
  await watchFor(one, 60 * SECOND_MS);
  await one.stop();
  await watchFor(two, 20 * SECOND_MS);
  expect(await harness.statuses()).toEqual(ready);
  await watchFor(two, 10 * SECOND_MS);
  expect(await harness.statuses()).toEqual(offline);
});

it('a clock set back by an hour makes no cluster silent, and silence is counted on the new time', async () => {
  const sync = harness.worker('one');
  await begin(sync);
  dead();
  await watchFor(sync, 60 * SECOND_MS);
  harness.clock.stepWallClock(-60 * MINUTE_MS);
  await watchFor(sync, 80 * SECOND_MS);
  expect(await harness.statuses()).toEqual(ready);
  await watchFor(sync, 20 * SECOND_MS);
  expect(await harness.statuses()).toEqual(offline);
});

it('a worker that is paused during a read writes nothing of it afterwards', async () => {
  const sync = harness.worker('one');
  await begin(sync);
  const id = await harness.clusterId('a');
  const engine = harness.engine('a');
  engine.nodes = [];
  engine.during = async () => harness.clock.advance(10 * MINUTE_MS);
  expect((await sync.look(id)).outcome).toBe('lost');
  engine.nodes = null;
  await sync.tick();
  expect((await sync.look(id)).outcome).toBe('lost');
  expect(await harness.statuses()).toEqual(ready);
  expect((await harness.node('n1')).unreachableSince).toBeNull();
});

it('an observer that lost its lease during a read writes nothing', async () => {
  const one = harness.worker('one');
  const two = harness.worker('two');
  await begin(one);
  const id = await harness.clusterId('a');
  const engine = harness.engine('a');
  engine.nodes = [];
  engine.during = async () => {
    engine.during = async () => undefined;
    await harness.clock.advance(MINUTE_MS);
    await two.tick();
    await two.tick();
  };
  expect((await one.look(id)).outcome).toBe('lost');
  expect((await two.look(id)).outcome).toBe('read');
});

it('workers that all return at the same time do not deadlock', async () => {
  await harness.configure('a', 'b', 'c', 'd', 'e');
  const workers = ['one', 'two', 'three', 'four'].map((holder) => harness.worker(holder));
  for (let round = 0; round < 5; round += 1) {
    await harness.clock.advance(MINUTE_MS);
    await Promise.all(workers.map((worker) => worker.tick()));
  }
  const deadlocks = 'select deadlocks::text from pg_stat_database where datname = current_database()';
  expect(await harness.rows(deadlocks)).toEqual([{ deadlocks: '0' }]);
});

it('a worker that died before the clock was set back gets no share of the clusters', async () => {
  await harness.configure('a', 'b');
  await harness.worker('gone').tick();
  harness.clock.stepWallClock(-60 * MINUTE_MS);
  const sync = harness.worker('one');
  await sync.tick();
  expect(await sync.tick()).toHaveLength(2);
});

it('clusters are distributed evenly, and each has one observer at a time', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  for (const name of names) harness.engine(name).nodes = [node(`node-${name}`)];
  await harness.configure(...names);
  const workers = ['one', 'two', 'three'].map((holder) => harness.worker(holder));
  for (let round = 0; round < 4; round += 1) {
    await harness.clock.advance(10 * SECOND_MS);
    await Promise.all(workers.map((worker) => worker.tick()));
  }
  const held = await Promise.all(workers.map((worker) => worker.tick()));
  expect(held.flat().toSorted()).toHaveLength(names.length);
  expect(new Set(held.flat()).size).toBe(names.length);
  // A third of seven, rounded up; the order of the heartbeats decides which worker has fewer.
  expect(Math.max(...held.map((ids) => ids.length))).toBe(3);
});

it('concurrent reads of one cluster store each node once', async () => {
  const sync = harness.worker('one');
  harness.engine('a').nodes = Array.from({ length: 20 }, (_, index) => node(`n${index}`));
  await harness.configure('a');
  await sync.tick();
  const id = await harness.clusterId('a');
  await Promise.all([sync.look(id), sync.look(id), sync.look(id)]);
  expect(await harness.nodes()).toHaveLength(20);
});

it('a started worker reads at once and again after an engine event, and leaves no lease when it stops', async () => {
  harness.engine('a').nodes = [node('n1')];
  await harness.configure('a');
  const { clock } = harness;
  const sync = harness.worker('one', { clock });
  sync.start();
  const settle = async (done: () => Promise<boolean>): Promise<void> => {
    for (let turn = 0; turn < 2_000; turn += 1) {
      if (await done()) return;
      await clock.advance(100);
    }
    throw new Error('The condition did not become true.');
  };
  await settle(async () => (await harness.nodes()).length === 1);
  harness.engine('a').nodes = [node('n1'), node('n2')];
  const { reads } = harness.engine('a');
  await settle(async () => {
    harness.engine('a').hint('n2');
    return (await harness.nodes()).length === 2;
  });
  expect(harness.engine('a').reads).toBeGreaterThan(reads);
  await sync.stop();
  expect(await harness.rows('select observer from clusters')).toEqual([{ observer: null }]);
  expect(await harness.rows('select count(*)::int as alive from cluster_observers')).toEqual([{ alive: 0 }]);
});
