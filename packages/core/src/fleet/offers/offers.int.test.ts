import { gpuTypes, type GpuType, type Region } from '@millrace/contract';
import { systemClock, type SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Db } from '@millrace/platform/db';
import { createIdSource, toUuid, type NodeId, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import {
  createOrganisation,
  createRandom,
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  insertFleet,
  testClock,
  testIds,
  testLog,
  type Random,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OfferService, OFFERS_MAX_AGE_MS, type PlacementBody } from './offers.service.ts';
import { nodeLayoutOf } from './offers.ts';
import type { MachineType } from '../../prices/index.ts';
import { outcomeOf } from '../placement/placement.fixture.ts';
import { place, OBSERVATION_MAX_AGE_MS } from '../placement/placement.service.ts';
import type { PlacementRequest } from '../placement/placement.ts';
import type { ConnectionType } from '../inventory/nodes.ts';

let database: TestDatabase;
let db: Db;
let clock: SimulatedClock;
let orgId: OrgId;

const readCommitted = { name: 'test', isolation: 'read committed' } as const;

beforeAll(async () => {
  database = await createTestDatabase();
  clock = testClock(Date.now());
  db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize: 8,
    clock: hybridClock(clock),
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: testLog('offers'),
  });
  orgId = await createOrganisation(db);
  for (const gpuType of gpuTypes) {
    for (const machineType of ['virtual-machine', 'bare-metal'] as const) {
      await run(
        `insert into prices (id, subject_kind, gpu_type, machine_type, unit, price_nano_usd, valid_from, created_at)
         values ($1, 'gpu', $2, $3, 'gpu_hour', 2000000001, 'epoch', 'epoch')`,
        [testIds.nextUuid(), gpuType, machineType],
      );
    }
  }
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

async function run(text: string, values: readonly unknown[] = []): Promise<void> {
  await database.query(text, [...values]);
}

/** Each test and each random fleet starts with an empty fleet. */
beforeEach(() => clearFleet());
const clearFleet = () =>
  run(`truncate maintenance_notices, maintenance_nodes, maintenance_windows, allocated_ports, allocated_gpus,
         allocations, node_capacity, gpus, node_transitions, nodes, fabrics, clusters, provider_regions, providers
       cascade`);

const createOffers = () => new OfferService({ db, clock });
const live = () => ({ orgId, mode: 'live' }) as const;

interface Wanted {
  readonly machineType: MachineType;
  readonly region: Region;
  readonly gpuType: GpuType;
  readonly connectionType: ConnectionType;
  readonly gpuCount: number;
  readonly cuda?: 'cuda12.8' | 'cuda12.9';
}

function placementOf(wanted: Wanted, fields: Partial<PlacementRequest> = {}): PlacementRequest {
  const shape = nodeLayoutOf(wanted.machineType, wanted.gpuCount);
  if (shape === null) throw new Error(`No machine has ${wanted.gpuCount} GPUs.`);
  return {
    orgId,
    externalId: testIds.nextUuid(),
    holder: 'rental',
    mode: 'live',
    offer: wanted.machineType,
    region: wanted.region,
    gpuType: wanted.gpuType,
    connectionType: wanted.connectionType,
    cuda: wanted.cuda === undefined ? null : wanted.cuda === 'cuda12.8' ? 1208 : 1209,
    gpusPerNode: shape.gpusPerNode,
    nodeCount: shape.nodeCount,
    except: [],
    only: null,
    ports: [{ internalPort: 22, protocol: 'tcp' }],
    freesAt: null,
    ...fields,
  };
}

const rolledBack = new Error('rolled back');

/** Counts consecutive successful placements, then rolls them back. */
async function countPlaced(wanted: Wanted): Promise<{ readonly placed: number; readonly reason: string }> {
  let placed = 0;
  let reason = '';
  const trying = db.transaction(readCommitted, async (tx) => {
    placed = 0;
    while (reason === '') {
      const response = await outcomeOf(place(tx, placementOf(wanted)));
      if (response === 'placed') placed += 1;
      else reason = response;
    }
    throw rolledBack;
  });
  await expect(trying).rejects.toBe(rolledBack);
  return { placed, reason };
}

const placeOne = (wanted: Wanted, fields: Partial<PlacementRequest> = {}) =>
  db.transaction(readCommitted, (tx) => place(tx, placementOf(wanted, fields)));

const requestOf = (wanted: Wanted): PlacementBody => ({
  rentalType: wanted.machineType,
  gpuCount: wanted.gpuCount,
  gpuType: wanted.gpuType,
  region: wanted.region,
  networkType: wanted.connectionType,
  termType: 'on-demand',
  discountPercentage: 0,
  ...(wanted.cuda === undefined ? {} : { cudaVersion: wanted.cuda }),
});

const regions = ['us-central-1', 'eu-west-3', 'us-east-1'] as const;

/** Random clusters and nodes, some of them allocated, faulty, closed or unobserved. */
async function insertRandomFleet(random: Random): Promise<void> {
  for (let cluster = random.int(1, 4); cluster > 0; cluster -= 1) {
    const offer = random.pick(['virtual-machine', 'bare-metal', 'bare-metal', 'marketplace'] as const);
    const region = random.pick(regions);
    const gpuType = random.pick(gpuTypes.slice(0, 2));
    const connectionType = random.pick(['ethernet', 'infiniband'] as const);
    const { clusterId, nodeIds } = await insertFleet(db, {
      nodes: random.int(1, 6),
      gpusPerNode: random.pick([4, 8, 8]),
      fabricSize: random.int(1, 4),
      offer,
      region,
      gpuType,
      connectionType,
      cuda: random.pick(['12.8', '12.9']),
      watchedAt: new Date(clock.nowMs() - (random.chance(0.15) ? OBSERVATION_MAX_AGE_MS + 1 : 0)),
    });
    if (random.chance(0.15)) {
      await run('update node_capacity set open = false where cluster_id = $1', [toUuid(clusterId)]);
    }
    for (const nodeId of nodeIds) await disturb(random, nodeId);
    if (offer === 'marketplace') continue;
    for (let rental = random.int(0, 6); rental > 0; rental -= 1) {
      const gpuCount = offer === 'bare-metal' ? 8 : random.int(1, 5);
      const wanted = { machineType: offer, region, gpuType, connectionType, gpuCount };
      await outcomeOf(placeOne(wanted));
    }
  }
}

async function disturb(random: Random, nodeId: NodeId): Promise<void> {
  const id = toUuid(nodeId);
  const change = random.weighted([
    [8, null],
    [1, `update gpus set state = 'missing' where id = (select id from gpus where node_id = $1 limit 1)`],
    [1, `update node_capacity set fabric_id = null where node_id = $1`],
    [1, `update node_capacity set cuda = null where node_id = $1`],
    [
      1,
      `with away as (update nodes set status = 'node_draining' where id = $1 returning id)
       update node_capacity set ready = false where node_id = (select id from away)`,
    ],
  ]);
  if (change !== null) await run(change, [id]);
}

const seeds = Array.from({ length: 12 }, (_, index) => 4_100 + index);

describe('OfferService', () => {
  it.each(seeds)('shows for every offer exactly the number that can be placed (seed %i)', async (seed) => {
    await insertRandomFleet(createRandom(seed));
    const offers = await createOffers().rentalOffers(live(), {});
    for (const offer of offers) {
      const { placed, reason } = await countPlaced(offer);
      expect({ ...offer, totalAvailable: placed }).toEqual(offer);
      expect(['INSUFFICIENT_CAPACITY', 'SERVICE_UNAVAILABLE']).toContain(reason);
      if (!offer.enabled) expect(offer.totalAvailable).toBe(0);
    }
  });

  it.each(seeds)(
    'explains as placeable exactly what can be placed, with counts that add up (seed %i)',
    async (seed) => {
      const random = createRandom(seed);
      await insertRandomFleet(random);
      const offers = createOffers();
      for (let round = 0; round < 25; round += 1) {
        const machineType = random.pick(['virtual-machine', 'bare-metal'] as const);
        const wanted: Wanted = {
          machineType,
          region: random.pick(
            machineType === 'bare-metal' ? ['us-central-1', 'eu-west-3'] : ['us-central-1', 'us-east-1'],
          ),
          gpuType: random.pick(gpuTypes.slice(0, 2)),
          connectionType: random.pick(['ethernet', 'infiniband'] as const),
          gpuCount: machineType === 'bare-metal' ? 8 * random.int(1, 4) : random.int(1, 9),
          ...(random.chance(0.4) ? { cuda: random.pick(['cuda12.8', 'cuda12.9'] as const) } : {}),
        };
        const explanation = await offers.explain(live(), requestOf(wanted));
        const { placed } = await countPlaced(wanted);
        expect({ wanted, placeable: explanation.placeable }).toEqual({ wanted, placeable: placed > 0 });
        const excluded = explanation.obstacles.reduce((sum, { nodeCount }) => sum + nodeCount, 0);
        expect(explanation.nodesFitting + excluded).toBe(explanation.nodesConsidered);
        for (const { pool, gpuCount, totalAvailable } of explanation.alternatives) {
          const { cuda } = wanted;
          const instead = { ...pool, gpuCount, ...(cuda === undefined ? {} : { cuda }) };
          const { placed: had } = await countPlaced(instead);
          expect(had).toBeGreaterThanOrEqual(1);
          if (cuda === undefined || pool.machineType === 'virtual-machine') expect(totalAvailable).toBe(had);
        }
      }
    },
  );

  it('shows data at most a second old, with one database read for concurrent callers in that time', async () => {
    const wanted = { machineType: 'virtual-machine', region: 'us-central-1', gpuType: 'h100' } as const;
    const one = { ...wanted, connectionType: 'ethernet', gpuCount: 8 } as const;
    await insertFleet(db, { nodes: 1, watchedAt: clock.now() });
    const offers = createOffers();
    const eights = async () =>
      (await offers.rentalOffers(live(), {})).find(({ gpuCount }) => gpuCount === 8)?.totalAvailable;
    expect(new Set(await Promise.all(Array.from({ length: 20 }, eights)))).toEqual(new Set([1]));
    await placeOne(one);
    await clock.advance(OFFERS_MAX_AGE_MS);
    expect(await eights()).toBe(1);
    await clock.advance(1);
    expect(await eights()).toBe(0);
  });

  it('shows new machines within a second, whenever it last read the hardware', async () => {
    const offers = createOffers();
    expect(await offers.rentalOffers(live(), {})).toEqual([]);
    await insertFleet(db, { nodes: 2, gpusPerNode: 4, watchedAt: clock.now() });
    await clock.advance(OFFERS_MAX_AGE_MS + 1);
    const shown = await offers.rentalOffers(live(), {});
    expect(shown.map(({ gpuCount, totalAvailable }) => [gpuCount, totalAvailable])).toEqual([
      [1, 8],
      [2, 4],
      [4, 2],
    ]);
  });

  it('disables offers of closed regions and of clusters without a recent heartbeat', async () => {
    const { clusterId } = await insertFleet(db, { nodes: 1, watchedAt: clock.now() });
    const look = async () => (await createOffers().rentalOffers(live(), {}))[0];
    await clock.advance(OBSERVATION_MAX_AGE_MS);
    expect(await look()).toMatchObject({ enabled: true, totalAvailable: 8 });
    await clock.advance(1);
    expect(await look()).toMatchObject({ enabled: false, totalAvailable: 0 });
    await run('update clusters set beat_at = $2 where id = $1', [toUuid(clusterId), clock.now()]);
    await run('update node_capacity set open = false');
    expect(await look()).toMatchObject({ enabled: false, totalAvailable: 0 });
  });

  it('shows only the caller’s mode: test keys see the free mock region, live keys never do', async () => {
    await insertFleet(db, { nodes: 1, watchedAt: clock.now() });
    await insertFleet(db, { nodes: 1, mode: 'test', watchedAt: clock.now() });
    const offers = createOffers();
    const seen = async (mode: 'live' | 'test') =>
      new Set(
        (await offers.rentalOffers({ orgId, mode }, {})).map(({ region, costPerHour, gpuCount }) =>
          [region, costPerHour === nanoUsd(2_000_000_001n * BigInt(gpuCount)), costPerHour === 0n].join(' '),
        ),
      );
    expect(await seen('live')).toEqual(new Set(['us-central-1 true false']));
    expect(await seen('test')).toEqual(new Set(['mock-region false true']));
    const inLive = { machineType: 'virtual-machine', gpuType: 'h100', connectionType: 'ethernet' } as const;
    const asLive = await offers.explain(live(), requestOf({ ...inLive, region: 'mock-region', gpuCount: 1 }));
    expect(asLive).toMatchObject({ placeable: false, nodesConsidered: 0 });
    const asTest = await offers.explain(
      { orgId, mode: 'test' },
      requestOf({ ...inLive, region: 'us-central-1', gpuCount: 1 }),
    );
    expect(asTest).toMatchObject({ placeable: false, nodesConsidered: 0, costPerHour: 0n });
    expect(asTest.alternatives.map(({ pool }) => pool.region)).toEqual(['mock-region']);
  });
});

describe('capacityExpectedAt', () => {
  const wanted: Wanted = {
    machineType: 'virtual-machine',
    region: 'us-central-1',
    gpuType: 'h100',
    connectionType: 'ethernet',
    gpuCount: 8,
  };
  const inMinutes = (minutes: number) => new Date(clock.nowMs() + minutes * 60_000);
  const expectedAt = async (fields: Partial<Wanted> = {}) =>
    (await createOffers().explain(live(), requestOf({ ...wanted, ...fields }))).capacityExpectedAt;
  const upToMinute = (at: Date) => new Date(Math.ceil(at.getTime() / 60_000) * 60_000);

  it('is the end of the last blocking allocation, rounded up to the minute; null while one end is unknown', async () => {
    await insertFleet(db, { nodes: 1, watchedAt: clock.now() });
    expect(await expectedAt()).toBeNull();
    await placeOne({ ...wanted, gpuCount: 3 }, { freesAt: inMinutes(30) });
    const open = await placeOne({ ...wanted, gpuCount: 5 });
    expect(await expectedAt()).toBeNull();
    expect(await expectedAt({ gpuCount: 3 })).toEqual(upToMinute(inMinutes(30)));
    await run('update allocations set frees_at = $2 where id = $1', [
      toUuid(open.allocationId),
      inMinutes(10),
    ]);
    expect(await expectedAt()).toEqual(upToMinute(inMinutes(30)));
    expect(await expectedAt({ gpuCount: 4 })).toEqual(upToMinute(inMinutes(10)));
    await run('update allocations set frees_at = $1', [inMinutes(-5)]);
    expect(await expectedAt()).toEqual(upToMinute(clock.now()));
    await run('update allocations set frees_at = $1', [inMinutes(-15)]);
    expect(await expectedAt()).toBeNull();
  });

  it('is the time at which enough nodes of one fabric are idle for a gang', async () => {
    await insertFleet(db, { nodes: 4, fabricSize: 2, offer: 'bare-metal', watchedAt: clock.now() });
    const metal = { ...wanted, machineType: 'bare-metal' } as const;
    for (const minutes of [40, 10, 20, 30]) await placeOne(metal, { freesAt: inMinutes(minutes) });
    expect(await expectedAt({ ...metal, gpuCount: 8 })).toEqual(upToMinute(inMinutes(10)));
    const pairs = await expectedAt({ ...metal, gpuCount: 16 });
    expect([20, 30, 40].map((minutes) => upToMinute(inMinutes(minutes)))).toContainEqual(pairs);
    expect(await expectedAt({ ...metal, gpuCount: 24 })).toBeNull();
  });

  it('is the end of the maintenance if only maintenance keeps the node from new rentals', async () => {
    const { nodeIds } = await insertFleet(db, { nodes: 1, watchedAt: clock.now() });
    const [nodeId] = nodeIds;
    if (nodeId === undefined) throw new Error('An inserted fleet has nodes.');
    await run(`update nodes set status = 'node_draining'`);
    await run('update node_capacity set ready = false');
    expect(await expectedAt()).toBeNull();
    const id = testIds.nextUuid();
    await run(
      `insert into maintenance_windows (id, summary, status, drains_at, starts_at, ends_at, created_at)
       values ($1, 'new firmware', 'announced', $2, $3, $4, $2)`,
      [id, clock.now(), inMinutes(60), inMinutes(90)],
    );
    await run(`insert into maintenance_nodes (window_id, node_id, hold) values ($1, $2, 'held')`, [
      id,
      toUuid(nodeId),
    ]);
    expect(await expectedAt()).toEqual(upToMinute(inMinutes(90)));
    await run(`update maintenance_windows set status = 'cancelled', ended_at = $1`, [clock.now()]);
    expect(await expectedAt()).toBeNull();
  });
});
