import { systemClock } from '@millrace/platform/clock';
import { toUuid, type ClusterId } from '@millrace/platform/ids';
import { failingCall, failingLoop, testIds, type ItemPoison } from '@millrace/testing';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it, describe } from 'vitest';
import { withDriver } from '../reconcile/reconcile.fixture.ts';
import { terminateAll, createInventoryReconciler } from './inventory.fixture.ts';
import { createRentalHarness, SECOND_MS, type RentalHarness } from '../model/rental.fixture.ts';
import type { InventoryReconciler } from './inventory-reconciler.ts';

/** Tests that hanging engines do not delay other clusters. */

let harness: RentalHarness;
beforeAll(async () => {
  harness = await createRentalHarness({ portListeners: false });
});
afterAll(() => harness.drop());
beforeEach(() => terminateAll(harness));

const hang = (): Promise<never> => new Promise(() => undefined);

let inFlight = 0;
const { query } = Client.prototype;
beforeAll(() => {
  const send = query as (this: Client, ...all: unknown[]) => unknown;
  Client.prototype.query = function counting(this: Client, ...all: unknown[]) {
    const sent = send.apply(this, all);
    if (sent instanceof Promise) {
      inFlight += 1;
      sent.then(
        () => (inFlight -= 1),
        () => (inFlight -= 1),
      );
    }
    return sent;
  } as typeof query;
});
afterAll(() => {
  Client.prototype.query = query;
});

/** Waits until all work waits for the clock: no statement is in flight, and none follows. */
async function workIsIdle(): Promise<void> {
  for (let quiet = 0; quiet < 3; quiet += 1) {
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    if (inFlight > 0) {
      quiet = -1;
      await systemClock.sleep(1);
    }
  }
}

/** Advances the clock second by second and completes all work of a second before the next. */
async function passRunning(seconds: number, beside: () => void = () => undefined): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 1) {
    beside();
    await harness.clock.advance(SECOND_MS);
    await workIsIdle();
  }
}

const comparedAt = async (clusterId: ClusterId): Promise<number> => {
  const [row] = await harness.rows<{ whole_at: Date | null }>(
    `select whole_at from cluster_comparisons where cluster_id = '${toUuid(clusterId)}'`,
  );
  return row?.whole_at?.getTime() ?? 0;
};

/** The longest time without a complete comparison of the cluster while `seconds` pass. */
async function longestGapMs(clusterId: ClusterId, seconds: number, beside?: () => void): Promise<number> {
  let longest = 0;
  for (let passed = 0; passed < seconds; passed += 5) {
    await passRunning(5, beside);
    longest = Math.max(longest, harness.clock.nowMs() - (await comparedAt(clusterId)));
  }
  return longest;
}

async function running(reconciler: InventoryReconciler, work: () => Promise<void>): Promise<void> {
  reconciler.start();
  try {
    await work();
  } finally {
    let isStopped = false;
    const stopped = reconciler.stop().finally(() => (isStopped = true));
    while (!isStopped) await passRunning(5);
    await stopped;
  }
}

describe(failingLoop('remove orphaned machines'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'whose removal %s does not delay comparisons of other clusters, even with many hints',
    async (how) => {
      const tenant = await harness.tenant();
      const { live, test } = harness.engines;
      let removals = 0;
      const hostile = withDriver(harness, (driver) =>
        driver === live.driver
          ? {
              listOwned: async () => ({
                machines: ['orphan-1', 'orphan-2'].map((externalId) => ({
                  externalId,
                  orgId: tenant.orgId,
                  nodeName: 'node-1',
                  power: 'on' as const,
                  detail: null,
                  gpuPciAddresses: [],
                  privateIps: [],
                  address: null,
                  ports: [],
                  sshUser: 'ubuntu',
                  labels: {},
                  createdAt: new Date(0),
                })),
                unreachableNodes: [],
              }),
              cutAccess: async () => undefined,
              terminate: () => {
                removals += 1;
                return how === 'hangs' ? hang() : failingCall('throws');
              },
            }
          : {},
      );
      const reconciler = createInventoryReconciler(harness, { drivers: hostile.drivers });
      await running(reconciler, async () => {
        await passRunning(90, () => reconciler.hint(live.clusterId));
        expect(removals).toBeGreaterThan(0);
        const before = removals;
        const gap = await longestGapMs(test.clusterId, 60, () => reconciler.hint(live.clusterId));
        expect(gap).toBeLessThanOrEqual(20 * SECOND_MS);
        expect(removals - before).toBeLessThanOrEqual(6);
      });
    },
  );
});

it('250 hanging clusters do not delay a responding cluster, and are all compared without a gap', async () => {
  const { live } = harness.engines;
  const client = await harness.database.connect();
  await client.query(
    `insert into clusters (id, name, provider_id, region, driver, endpoint, settings, offer, connection_type, origin,
       supplier_org_id, status, status_since, created_at)
     select made.id, 'hanging-' || nth, provider_id, region, driver, 'https://hanging-' || nth || '.example', '{}',
            'marketplace', connection_type, 'supplier', $2, 'connected', status_since, created_at
       from clusters as model, unnest($3::uuid[]) with ordinality as made (id, nth) where model.id = $1`,
    [
      toUuid(live.clusterId),
      toUuid(harness.supplierOrgId),
      Array.from({ length: 250 }, () => toUuid(testIds.next('cls'))),
    ],
  );
  const known = new Set(Object.values(harness.engines).map(({ clusterId }) => clusterId));
  const reconciler = createInventoryReconciler(harness, {
    drivers: (clusterId) => (known.has(clusterId) ? harness.drivers(clusterId) : hang()),
  });
  await running(reconciler, async () => {
    await passRunning(45);
    const gap = await longestGapMs(live.clusterId, 30);
    expect(gap).toBeLessThanOrEqual(20 * SECOND_MS);
    const [{ oldest } = { oldest: null }] = await harness.rows<{ oldest: Date | null }>(
      `select min(looked_at) as oldest from cluster_comparisons`,
    );
    expect(harness.clock.nowMs() - (oldest?.getTime() ?? 0)).toBeLessThan(45 * SECOND_MS);
  });
  await client.query(
    `delete from cluster_comparisons where cluster_id in (select id from clusters where name like 'hanging-%')`,
  );
  await client.query(`delete from clusters where name like 'hanging-%'`);
  await client.end();
});
