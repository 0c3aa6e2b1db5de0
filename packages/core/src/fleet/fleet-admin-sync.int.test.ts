import type { Db, Tx } from '@millrace/platform/db';
import { insertFleet } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemAuditContext } from '../identity/index.ts';
import { countGpus, countOverdueDrains } from './admin/fleet-metrics.store.ts';
import { applyNodeAction, setGpuFaulty, updateProvider } from './admin/fleet-admin.service.ts';
import {
  createFleetHarness,
  gpu,
  MINUTE_MS,
  node,
  SECOND_MS,
  unreachable,
  type FleetHarness,
} from './fleet.fixture.ts';
import { listNodes, place, type FleetSync } from './index.ts';
import { placementRequestFor } from './placement-request.fixture.ts';

/** Operator actions combined with inventory polls. */

const cause = systemAuditContext('test', 'live');
let harness: FleetHarness;
let sync: FleetSync;

beforeEach(async () => {
  harness = await createFleetHarness();
  sync = harness.worker('one');
  await harness.configure('a');
});
afterEach(() => harness.drop());

const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
  harness.db.transaction({ name: 'test', isolation: 'read committed' }, work);

const read = async (): Promise<void> => {
  await harness.clock.advance(10 * SECOND_MS);
  await sync.tick();
  expect((await sync.look(await harness.clusterId('a'))).outcome).toBe('read');
};

async function rentOne() {
  const orgId = await harness.organisation();
  return run((tx) => place(tx, placementRequestFor(orgId, 'eu')));
}

const free = async (): Promise<number> => {
  const rows = await harness.rows<{ free: number }>('select sum(gpus_free)::int as free from node_capacity');
  return rows[0]?.free ?? 0;
};

describe('a GPU that an operator marked as faulty', () => {
  async function takenOut() {
    harness.engine('a').nodes = [node('n1')];
    await read();
    const before = await harness.node('n1');
    const [first] = before.gpus;
    if (first === undefined) throw new Error('no GPU was read');
    const mark = (faulty: boolean) =>
      run((tx) => setGpuFaulty(tx, cause, before.id, first.id, { faulty, reason: 'row remapping failed' }));
    await mark(true);
    const now = async () => (await harness.node('n1')).gpus.find(({ id }) => id === first.id);
    return { mark, now };
  }

  it("stays faulty while the engine reports it, and the node's reason says so", async () => {
    const { now } = await takenOut();
    await read();
    expect(await now()).toMatchObject({ state: 'faulty', stateReason: 'row remapping failed' });
    expect(await free()).toBe(7);
    expect((await harness.node('n1')).statusReason).toContain('1 faulty (0000:10:00.0)');
  });

  it('keeps its reason when the engine reports new facts about the device', async () => {
    const { now } = await takenOut();
    harness.engine('a').nodes = [
      node(
        'n1',
        Array.from({ length: 8 }, (_, index) => gpu(index, { ramMb: 81_000 })),
      ),
    ];
    await read();
    expect(await now()).toMatchObject({
      state: 'faulty',
      ramMb: 81_000,
      stateReason: 'row remapping failed',
    });
  });

  it('is sold again from the next poll that reports it after its return to use', async () => {
    const { mark, now } = await takenOut();
    await read();
    await mark(false);
    expect([(await now())?.state, await free()]).toEqual(['missing', 7]);
    await read();
    expect(await now()).toMatchObject({ state: 'present', stateReason: null });
    expect([await free(), (await harness.node('n1')).statusReason]).toEqual([8, null]);
  });

  it('is not sold after its return to use while the engine does not report it', async () => {
    const { mark, now } = await takenOut();
    harness.engine('a').nodes = [
      node(
        'n1',
        Array.from({ length: 7 }, (_, index) => gpu(index + 1)),
      ),
    ];
    await read();
    await mark(false);
    await read();
    expect([(await now())?.state, await free()]).toEqual(['missing', 7]);
  });
});

describe('a drain', () => {
  it('of an offline node that was never read is refused, because it would be lost', async () => {
    harness.engine('a').nodes = [unreachable('n1')];
    for (let reads = 0; reads < 3; reads += 1) await read();
    const { id, status, backTo } = await harness.node('n1');
    expect([status, backTo]).toEqual(['node_offline', 'node_registering']);
    const drained = run((tx) => applyNodeAction(tx, cause, id, 'drain', { reason: 'bad rack' }));
    await expect(drained).rejects.toMatchObject({ reason: 'INVALID_STATE_TRANSITION' });
    await run((tx) => applyNodeAction(tx, cause, id, 'quarantine', { reason: 'bad rack' }));
    harness.engine('a').nodes = [node('n1')];
    await read();
    expect((await harness.node('n1')).status).toBe('node_quarantined');
  });

  it('is overdue when its deadline has passed and rentals remain, also while the node is offline', async () => {
    harness.engine('a').nodes = [node('n1'), node('n2', [])];
    await read();
    await rentOne();
    const deadlineAt = new Date(harness.clock.nowMs() + MINUTE_MS);
    for (const name of ['n1', 'n2']) {
      const { id } = await harness.node(name);
      await run((tx) => applyNodeAction(tx, cause, id, 'drain', { reason: 'old fans', deadlineAt }));
    }
    const overdue = () => countOverdueDrains(harness.db, harness.clock.now());
    expect(await overdue()).toBe(0);
    await harness.clock.advance(2 * MINUTE_MS);
    expect(await overdue()).toBe(1);
    harness.engine('a').nodes = [unreachable('n1'), node('n2', [])];
    for (let reads = 0; reads < 3; reads += 1) await read();
    expect((await harness.node('n1')).status).toBe('node_offline');
    expect(await overdue()).toBe(1);
  });
});

it('a removed node is not counted, even if its engine still lists it', async () => {
  harness.engine('a').nodes = [node('n1'), node('n2')];
  await read();
  const counted = async () => (await countGpus(harness.db)).map(({ total, free: left }) => [total, left]);
  expect(await counted()).toEqual([[16, 16]]);
  const { id } = await harness.node('n1');
  await run((tx) => applyNodeAction(tx, cause, id, 'drain', { reason: 'sold' }));
  expect(await counted()).toEqual([[16, 8]]);
  await run((tx) => applyNodeAction(tx, cause, id, 'remove', { reason: 'sold' }));
  await read();
  expect(await counted()).toEqual([[8, 8]]);
});

it('listing nodes runs the same number of statements for any page size', async () => {
  await insertFleet(harness.db, { nodes: 60 });
  const counted = async (limit: number): Promise<number> => {
    let statements = 0;
    const kysely = harness.db.kysely.withPlugin({
      transformQuery: ({ node: query }) => {
        statements += 1;
        return query;
      },
      transformResult: async ({ result }) => result,
    });
    const reader: Db = { ...harness.db, kysely };
    const nodes = await listNodes(reader, {}, { limit, after: null });
    expect(nodes).toHaveLength(Math.min(60, limit + 1));
    expect(nodes.every((each) => each.gpus.length === 8)).toBe(true);
    return statements;
  };
  expect([await counted(1), await counted(20), await counted(200)]).toEqual([2, 2, 2]);
});

it('concurrent switch changes are audited one after the other, each from the previous state', async () => {
  await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      run((tx) => updateProvider(tx, cause, 'own', { enabled: index % 2 === 0, reason: `switch ${index}` })),
    ),
  );
  const lines = await harness.rows<{ before: { enabled: boolean }; after: { enabled: boolean } }>(
    `select before, after from audit_log where action = 'provider.switched' order by id`,
  );
  expect(lines).toHaveLength(8);
  expect(lines.slice(1).map(({ before }) => before.enabled)).toEqual(
    lines.slice(0, -1).map(({ after }) => after.enabled),
  );
});
