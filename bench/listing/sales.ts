import { place, releaseAllocation } from '@millrace/core/fleet';
import { atMost, type BenchAssertion, type BenchRun } from '@millrace/runners';
import { createOrganisation, createTestDatabase, insertFleet, testIds } from '@millrace/testing';

const NODES = 1_000;
const REGION = 'bench-sales';
const SALES_IN_TURN = 200;
const TURNS = 20;
const QUICK_TURNS = 2;
/** Limit for the cost that the listing adds to the sale of a machine outside the marketplace. */
const MAX_SLOWDOWN = 1.03;

const committed = { name: 'sell', isolation: 'read committed' } as const;

export interface Sales {
  readonly figures: Readonly<Record<string, number>>;
  readonly bars: readonly BenchAssertion[];
}

/** Alternates with and without the trigger that records changes of the listing. The median ignores waits for the disk. */
export async function measureSales(run: BenchRun): Promise<Sales> {
  await using database = await createTestDatabase({ isSynced: true, poolSize: 1 });
  const { db } = database;
  const orgId = await createOrganisation(db);
  await insertFleet(db, { nodes: NODES, region: REGION, watchedAt: new Date(Date.now() + 3_600_000) });
  const client = await database.connect();
  await client.query('vacuum analyze');
  const sell = async (): Promise<number> => {
    const startedMs = performance.now();
    const { allocationId } = await db.transaction(committed, (tx) =>
      place(tx, {
        orgId,
        externalId: testIds.nextUuid(),
        holder: 'rental',
        mode: 'live',
        offer: 'virtual-machine',
        region: REGION,
        gpuType: 'h100',
        connectionType: 'ethernet',
        cuda: null,
        gpusPerNode: 1,
        nodeCount: 1,
        except: [],
        only: null,
        ports: [{ internalPort: 22, protocol: 'tcp' }],
        freesAt: null,
      }),
    );
    await db.transaction(committed, (tx) => releaseAllocation(tx, orgId, allocationId));
    return performance.now() - startedMs;
  };
  const tookMs: Record<'enable' | 'disable', number[]> = { enable: [], disable: [] };
  for (let turn = 0; turn <= (run.quick ? QUICK_TURNS : TURNS); turn += 1) {
    for (const side of turn % 2 === 0 ? (['enable', 'disable'] as const) : (['disable', 'enable'] as const)) {
      await client.query(`alter table node_capacity ${side} trigger node_capacity_listed`);
      for (let sold = 0; sold < SALES_IN_TURN; sold += 1) {
        const ms = await sell();
        // The first turn and the first sales after each change warm up.
        if (turn > 0 && sold >= SALES_IN_TURN / 4) tookMs[side].push(ms);
      }
    }
  }
  await client.end();
  const [withListing, without] = [middle(tookMs.enable), middle(tookMs.disable)];
  return {
    figures: {
      'a sale elsewhere, µs': Math.round(withListing * 1000),
      'a sale elsewhere, not noted, µs': Math.round(without * 1000),
    },
    bars: [
      atMost(
        'a sale elsewhere, times one without the listing',
        MAX_SLOWDOWN,
        Math.round((withListing / without) * 1000) / 1000,
      ),
    ],
  };
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
