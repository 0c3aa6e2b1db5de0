import { toUuid } from '@millrace/platform/ids';
import { createRandom } from '@millrace/testing/random';
import { sql } from 'kysely';
import { afterAll, afterEach, expect, it } from 'vitest';
import {
  openPlacementHarness,
  placementTransaction,
  type PlacementRegion,
} from './placement/placement.fixture.ts';
import { place } from './placement/placement.service.ts';
import { SPREAD_BOUND } from './placement/placement.store.ts';

/** Tests which node a placement chooses, and that the search uses indexes. */

// One connection, so that its cached plans are the ones tested below.
const ground = await openPlacementHarness(1);
afterEach(async () => expect(await ground.violations()).toEqual([]));
afterAll(() => ground.database.drop());

interface NodeRow {
  readonly node_id: string;
  readonly gpus_free: number;
  readonly largest_numa_free: number;
  readonly spread: number;
}

/** The specified order of nodes; the placement must take the first. */
function inOrder(nodes: readonly NodeRow[], gpus: number, start: number): readonly NodeRow[] {
  const key = (node: NodeRow): readonly number[] => [
    node.gpus_free,
    node.largest_numa_free < gpus ? 1 : 0,
    node.largest_numa_free,
    node.spread < start ? 1 : 0,
    node.spread,
  ];
  return nodes
    .filter((node) => node.gpus_free >= gpus)
    .toSorted((one, other) => {
      const [mine, theirs] = [key(one), key(other)];
      const at = mine.findIndex((part, index) => part !== theirs[index]);
      return (mine[at] ?? 0) - (theirs[at] ?? 0);
    });
}

const undone = new Error('undone');

/** The chosen node, with the placement rolled back. */
async function chosen(
  region: PlacementRegion,
  gpusPerNode: number,
  start: number,
): Promise<string | undefined> {
  let node: string | undefined;
  const work = ground.database.db.transaction(placementTransaction, async (tx) => {
    const { nodes } = await place(tx, region.request({ gpusPerNode }), { random: () => start });
    node = nodes.map(({ nodeId }) => toUuid(nodeId))[0];
    throw undone;
  });
  await expect(work).rejects.toSatisfy(
    (error) => error === undone || (error as { reason?: string }).reason === 'INSUFFICIENT_CAPACITY',
  );
  return node;
}

it.each([1, 2, 3])(
  'a placement prefers the fewest free GPUs, then one NUMA node, then the order of spread (fleet %i)',
  async (seed) => {
    const random = createRandom(seed);
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 40 });
    for (const only of nodeIds) {
      // Places GPUs one by one and releases some, so that free GPUs are spread over the NUMA nodes in many ways.
      const sold = [];
      for (let left = random.int(0, 8); left > 0; left -= 1) sold.push(await region.place({ only }));
      for (const placement of sold) if (random.chance(0.4)) await region.release(placement);
    }
    const nodes = await ground.query<NodeRow>(
      'select node_id, gpus_free, largest_numa_free, spread from node_capacity where region = $1',
      [region.region],
    );
    for (let gpus = 1; gpus <= 9; gpus += 1) {
      for (const start of [0, random.int(1, SPREAD_BOUND - 1), SPREAD_BOUND - 1]) {
        expect(await chosen(region, gpus, start)).toBe(inOrder(nodes, gpus, start)[0]?.node_id);
      }
    }
  },
);

it('search, allocation and release read tables only by index once plans are cached', async () => {
  const region = ground.newRegion();
  await region.seed({ nodes: 1_500, gpusPerNode: 4, fabricSize: 10 });
  const { kysely } = ground.database.db;
  await ground.query('analyze');
  const scans = async (): Promise<readonly object[]> => {
    await sql`select pg_stat_force_next_flush()`.execute(kysely);
    return ground.query(
      `select relname, seq_scan::int from pg_stat_user_tables where relname in ('node_capacity', 'gpus', 'allocated_gpus')
        order by relname`,
    );
  };
  const work = async (times: number): Promise<void> => {
    for (let done = 0; done < times; done += 1) {
      const placement = await region.place({ gpusPerNode: 1 + (done % 4) });
      const gang = await region.place({ gpusPerNode: 4, nodeCount: 3, ports: [] });
      await region.release(placement);
      await region.release(gang);
    }
  };
  for (let sold = 0; sold < 200; sold += 1) await region.place({ gpusPerNode: 4 });
  await ground.query('analyze');
  await work(8);
  const before = await scans();
  await work(8);
  expect(await scans()).toEqual(before);
});
