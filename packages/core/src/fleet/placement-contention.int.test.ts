import { toUuid } from '@millrace/platform/ids';
import { killBackend, testIds } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  gpusOf,
  holdPlacement,
  openPlacementHarness,
  placementTransaction,
  outcomeOf,
  collectOutcomes,
  waitUntilBlocked,
} from './placement/placement.fixture.ts';
import type { Placement, PlacementRequest } from './placement/placement.ts';
import { place } from './placement/placement.service.ts';
import { releaseAllocation } from './placement/allocations.store.ts';

/** Concurrent placements on separate connections. Nothing is retried, so a deadlock fails the test. */

const AT_ONCE = 64;
const full = 'INSUFFICIENT_CAPACITY';

const ground = await openPlacementHarness(AT_ONCE);
afterEach(async () => {
  expect(await ground.violations()).toEqual([]);
  const [stats] = await ground.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  expect(stats?.deadlocks).toBe('0');
});
afterAll(() => ground.database.drop());

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const onlyFull = (refusals: readonly string[]) => expect([...new Set(refusals)]).toEqual([full]);
const distinctGpus = (placed: readonly Placement[]): number => new Set(placed.flatMap(gpusOf)).size;

const holdOpen = (request: PlacementRequest) => holdPlacement(ground, request);
const waiting = (count: number) => waitUntilBlocked(ground, count);

describe('64 concurrent placements for the last 8 GPUs', () => {
  it.each([
    ['one node', { nodes: 1, gpusPerNode: 8 }],
    ['8 nodes with one each', { nodes: 8, gpusPerNode: 1 }],
    ['3 nodes with 3, 3 and 2', { nodes: 3, gpusPerNode: 3 }],
  ])('allocate exactly 8 on %s and refuse the rest', async (_where, fleet) => {
    const region = ground.newRegion();
    await region.seed(fleet);
    for (let spare = fleet.nodes * fleet.gpusPerNode - 8; spare > 0; spare -= 1) await region.place();
    const { placed, refusals } = await collectOutcomes(times(AT_ONCE, () => region.place()));
    expect([placed.length, distinctGpus(placed), refusals.length]).toEqual([8, 8, AT_ONCE - 8]);
    onlyFull(refusals);
  });

  it.each([1, 2, 3])('refuse none of sizes 1, 2 and 4 that fits (round %i)', async (round) => {
    const region = ground.newRegion();
    await region.seed({ nodes: 4, gpusPerNode: 2 });
    await region.seed({ nodes: round, gpusPerNode: 8 });
    const sizes = times(AT_ONCE, (index) => [1, 2, 4][(index + round) % 3] ?? 1);
    const outcomes = await Promise.all(
      sizes.map(async (gpusPerNode) => ({
        gpusPerNode,
        outcome: await outcomeOf(region.place({ gpusPerNode })),
      })),
    );
    const refused = outcomes.filter(({ outcome }) => outcome !== 'placed');
    onlyFull(refused.map(({ outcome }) => outcome));
    // Free capacity only shrank, so a refused request that fits now would have fitted then.
    const [left] = await ground.query<{ most: number }>(
      'select max(gpus_free)::int as most from node_capacity where region = $1',
      [region.region],
    );
    expect(Math.min(...refused.map(({ gpusPerNode }) => gpusPerNode))).toBeGreaterThan(left?.most ?? 0);
    expect(left?.most).toBe(0);
  });
});

describe('waiting placements', () => {
  it('get the GPUs if the holder rolls back, and are refused only if it commits', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 2, gpusPerNode: 1 });
    const holders = [holdOpen(region.request()), holdOpen(region.request())];
    await Promise.all(holders.map(({ placed }) => placed));
    const late = collectOutcomes(times(8, () => region.place()));
    await waiting(8);
    await holders[0]?.end('rollback');
    await holders[1]?.end('commit');
    const { placed, refusals } = await late;
    expect(placed).toHaveLength(1);
    onlyFull(refusals);
  });

  it('get all 8 GPUs if all 8 holders roll back', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 8, gpusPerNode: 1 });
    const holders = times(8, () => holdOpen(region.request()));
    await Promise.all(holders.map(({ placed }) => placed));
    const late = collectOutcomes(times(24, () => region.place()));
    await waiting(24);
    await Promise.all(holders.map((holder) => holder.end('rollback')));
    const { placed, refusals } = await late;
    expect([placed.length, distinctGpus(placed)]).toEqual([8, 8]);
    onlyFull(refusals);
  });

  it('use a free node instead of waiting for a locked one', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 2, gpusPerNode: 1 });
    const holder = holdOpen(region.request());
    const held = await holder.placed;
    const other = await region.place();
    expect(gpusOf(other)).not.toEqual(gpusOf(held));
    await holder.end('commit');
  });

  it('exclude placements that hold an unusable node: these retry, then start over', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const holder = holdOpen(region.request());
    await holder.placed;
    // The other placements lock this unobserved node first.
    await region.seed({ nodes: 1, gpusPerNode: 1, watchedAt: new Date(0) });
    await expect(region.place()).rejects.toMatchObject({ code: '40001' });
    const late = collectOutcomes(times(4, () => region.place()));
    await holder.end('rollback');
    const { placed, refusals } = await late;
    expect(placed).toHaveLength(1);
    expect([...new Set(refusals)]).toEqual(['SERVICE_UNAVAILABLE']);
  });

  it('use the remaining GPUs of a node whose holder took some', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 8 });
    const holder = holdOpen(region.request({ gpusPerNode: 3 }));
    await holder.placed;
    const late = collectOutcomes([5, 6].map((gpusPerNode) => region.place({ gpusPerNode })));
    await waiting(2);
    await holder.end('commit');
    const { placed, refusals } = await late;
    expect(placed.map((placement) => gpusOf(placement).length)).toEqual([5]);
    onlyFull(refusals);
  });
});

describe('gangs of 4', () => {
  const gang = { offer: 'bare-metal', gpusPerNode: 8, nodeCount: 4, ports: [] } as const;
  const single = { nodeCount: 1 } as const;
  const nodesOf = (placements: readonly Placement[]) =>
    placements.flatMap(({ nodes }) => nodes.map(({ nodeId }) => nodeId));

  it("get all of their nodes or none, with 16 concurrent requests for two gangs' capacity", async () => {
    const region = ground.newRegion(gang);
    await region.seed({ nodes: 8, offer: 'bare-metal' });
    const { placed, refusals } = await collectOutcomes(times(16, () => region.place()));
    expect(placed.map(({ nodes }) => nodes.length)).toEqual([4, 4]);
    expect(new Set(nodesOf(placed)).size).toBe(8);
    onlyFull(refusals);
  });

  it('give all of the last 4 nodes to one of two requests', async () => {
    for (let round = 0; round < 5; round += 1) {
      const region = ground.newRegion(gang);
      await region.seed({ nodes: 4, offer: 'bare-metal' });
      const { placed, refusals } = await collectOutcomes([region.place(), region.place()]);
      expect(nodesOf(placed)).toHaveLength(4);
      expect(refusals).toEqual([full]);
    }
  });

  it('and single machines leave nothing that would fit a refused request', async () => {
    for (let round = 0; round < 4; round += 1) {
      const region = ground.newRegion(gang);
      await region.seed({ nodes: 12, fabricSize: 6, offer: 'bare-metal' });
      const singles = times(10, () => region.place(single));
      const gangs = times(10, () => region.place());
      const [one, four] = await Promise.all([collectOutcomes(singles), collectOutcomes(gangs)]);
      const taken = nodesOf([...one.placed, ...four.placed]);
      expect(new Set(taken).size).toBe(taken.length);
      for (const { nodes } of four.placed) expect(nodes).toHaveLength(4);
      if (four.refusals.length > 0) onlyFull(four.refusals);
      const idle = await ground.query<{ idle: number }>(
        'select count(*) filter (where idle)::int as idle from node_capacity where region = $1 group by fabric_id',
        [region.region],
      );
      const most = Math.max(...idle.map((row) => row.idle));
      if (one.refusals.length > 0) expect(most).toBe(0);
      if (four.refusals.length > 0) expect(most).toBeLessThan(4);
    }
  });

  it('use a free fabric instead of waiting for a locked one', async () => {
    const region = ground.newRegion(gang);
    await region.seed({ nodes: 8, fabricSize: 4, offer: 'bare-metal' });
    const holder = holdOpen(region.request());
    const held = await holder.placed;
    const other = await region.place();
    expect(new Set(nodesOf([held, other])).size).toBe(8);
    await holder.end('commit');
  });

  it('that wait get the fabric whose holder rolls back, not the one whose holder commits', async () => {
    const region = ground.newRegion(gang);
    await region.seed({ nodes: 8, fabricSize: 4, offer: 'bare-metal' });
    const holders = [holdOpen(region.request()), holdOpen(region.request({ nodeCount: 3 }))];
    const [, lost] = await Promise.all(holders.map(({ placed }) => placed));
    const late = collectOutcomes([region.place(), region.place()]);
    await waiting(2);
    await holders[0]?.end('commit');
    await holders[1]?.end('rollback');
    const { placed, refusals } = await late;
    expect(nodesOf(placed)).toEqual(expect.arrayContaining(nodesOf(lost === undefined ? [] : [lost])));
    expect(refusals).toEqual([full]);
  });
});

describe('a drain', () => {
  it('that commits while placements wait for the node refuses all of them', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 1 });
    const [node] = nodeIds.map(toUuid);
    const client = await ground.database.connect();
    try {
      await client.query('begin');
      await client.query('update node_capacity set ready = false where node_id = $1', [node]);
      const late = collectOutcomes(times(16, () => region.place()));
      await waiting(16);
      await client.query('commit');
      const { placed, refusals } = await late;
      expect(placed).toEqual([]);
      onlyFull(refusals);
    } finally {
      await client.end();
    }
  });

  it('sees every earlier placement once it has the lock, and none follows', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 1 });
    const [node] = nodeIds.map(toUuid);
    const storm = collectOutcomes(times(AT_ONCE >> 1, () => region.place()));
    const seen = await ground.database.db.transaction(
      { ...placementTransaction, name: 'drain' },
      async ({ kysely }) => {
        await sql`select 1 from node_capacity where node_id = ${node} for no key update`.execute(kysely);
        await sql`update node_capacity set ready = false where node_id = ${node}`.execute(kysely);
        const { rows } = await sql<{ sold: number }>`
        select count(*)::int as sold from allocated_gpus where node_id = ${node} and released_at is null`.execute(
          kysely,
        );
        return rows[0]?.sold;
      },
    );
    const { placed } = await storm;
    expect(placed).toHaveLength(seen ?? -1);
  });
});

describe('concurrently', () => {
  it('placing the same machine twice creates one allocation', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 4, gpusPerNode: 2 });
    const request = region.request({ externalId: testIds.nextUuid() });
    const placements = await Promise.all(
      times(8, () =>
        ground.database.db.transaction({ ...placementTransaction, maxAttempts: 5 }, (tx) =>
          place(tx, request),
        ),
      ),
    );
    expect(new Set(placements.map(({ allocationId }) => allocationId)).size).toBe(1);
    const [row] = await ground.query(
      'select sum(gpus_allocated)::int as sold from node_capacity where region = $1',
      [region.region],
    );
    expect(row).toEqual({ sold: 1 });
  });

  it('releasing an allocation twice frees it once', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const placement = await region.place();
    const results = await Promise.all(times(8, () => region.release(placement)));
    expect(results.filter(Boolean)).toHaveLength(1);
    expect(await outcomeOf(region.place())).toBe('placed');
  });

  it('releases and placements do not block each other', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 4, gpusPerNode: 4 });
    const first = await Promise.all(times(16, () => region.place()));
    const [released, storm] = await Promise.all([
      Promise.all(first.map((placement) => region.release(placement))),
      collectOutcomes(times(48, () => region.place())),
    ]);
    expect(released.every(Boolean)).toBe(true);
    expect(storm.refusals.filter((reason) => reason !== full)).toEqual([]);
    expect(storm.placed.length).toBeLessThanOrEqual(16);
  });

  it('gangs are released while gangs and single machines are placed', async () => {
    const region = ground.newRegion({ offer: 'bare-metal', gpusPerNode: 8, ports: [] });
    await region.seed({ nodes: 12, offer: 'bare-metal' });
    for (let round = 0; round < 4; round += 1) {
      const gangs = await Promise.all(times(3, () => region.place({ nodeCount: 4 })));
      const [storm] = await Promise.all([
        collectOutcomes([
          ...times(6, () => region.place({ nodeCount: 4 })),
          ...times(6, () => region.place()),
        ]),
        ...gangs.map((placement) => region.release(placement)),
      ]);
      expect(storm.refusals.filter((reason) => reason !== full)).toEqual([]);
      await Promise.all(storm.placed.map((placement) => region.release(placement)));
    }
  });
});

describe('a connection that dies before the commit', () => {
  it('leaves no allocation, and a waiting placement gets the GPUs', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const pid = Promise.withResolvers<number>();
    const dying = ground.database.db.transaction(placementTransaction, async (tx) => {
      await place(tx, region.request());
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.kysely);
      pid.resolve(rows[0]?.pid ?? 0);
      await sql`select pg_sleep(10)`.execute(tx.kysely);
    });
    const victim = await pid.promise;
    const late = region.place();
    await waiting(1);
    const [died, killed] = await Promise.all([outcomeOf(dying), killBackend(ground.database, victim)]);
    expect(killed).toBe(true);
    expect(died).toMatch(/terminat/);
    expect(gpusOf(await late)).toHaveLength(1);
  });

  it('during a release leaves the GPUs allocated', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const placement = await region.place();
    const failing = ground.database.db.transaction(placementTransaction, async (tx) => {
      await releaseAllocation(tx, ground.orgId, placement.allocationId);
      await sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx.kysely);
    });
    await expect(failing).rejects.toThrow();
    expect(await outcomeOf(region.place())).toBe(full);
  });
});
