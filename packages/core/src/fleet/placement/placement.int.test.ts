import { systemClock } from '@millrace/platform/clock';
import type { Fault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { findPlacement } from './allocations.store.ts';
import { gpusOf, openPlacementHarness, outcomeOf } from './placement.fixture.ts';
import type { Placement } from './placement.ts';
import { OBSERVATION_MAX_AGE_MS } from './placement.service.ts';
import { FABRIC_SAMPLE } from './placement.store.ts';

const ground = await openPlacementHarness(8);

afterEach(async () => expect(await ground.violations()).toEqual([]));

afterAll(() => ground.database.drop());

const [full, free] = ['INSUFFICIENT_CAPACITY', 'placed'];

const nodesOf = (placement: Placement) => placement.nodes.map(({ nodeId }) => nodeId);

const externalPorts = (placement: Placement) =>
  placement.nodes.flatMap(({ ports }) => ports.map(({ externalPort }) => externalPort));

/** Longer ago than a heartbeat stays valid. */
const unwatched = (): Date => new Date(systemClock.nowMs() - OBSERVATION_MAX_AGE_MS - 60_000);

describe('an allocation', () => {
  it('contains exact GPUs by address and stays the same when the machine is placed again', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 1 });
    const externalId = testIds.nextUuid();
    const placement = await region.place({ externalId, gpusPerNode: 2 });
    expect(nodesOf(placement)).toEqual(nodeIds);
    expect(placement.nodes[0]?.gpus.map(({ pciAddress }) => pciAddress)).toEqual([
      '0000:81:00.0',
      '0000:82:00.0',
    ]);
    expect(externalPorts(placement)).toHaveLength(1);
    expect(await region.place({ externalId, gpusPerNode: 2 })).toEqual(placement);
    expect(await findPlacement(ground.database.db, ground.orgId, externalId)).toEqual(placement);
    expect(await findPlacement(ground.database.db, testIds.next('org'), externalId)).toBeNull();
  });

  it('is on the node with the fewest sufficient free GPUs, so that whole nodes stay free', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 6 });
    const six = await region.place({ gpusPerNode: 6 });
    expect(nodesOf(await region.place({ gpusPerNode: 2 }))).toEqual(nodesOf(six));
    const four = await region.place({ gpusPerNode: 4 });
    expect(nodesOf(four)).not.toEqual(nodesOf(six));
    expect(nodesOf(await region.place({ gpusPerNode: 3 }))).toEqual(nodesOf(four));
  });

  it('uses GPUs of one NUMA node if possible', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1 });
    const one = await region.place({ gpusPerNode: 1 });
    const four = await region.place({ gpusPerNode: 4 });
    const three = await region.place({ gpusPerNode: 3 });
    const numa = await ground.query<{ id: string; numa_node: number }>('select id, numa_node from gpus');
    const numaOf = new Map(numa.map((row) => [row.id, row.numa_node]));
    const touched = [one, four, three].map((placement) =>
      gpusOf(placement).map((id) => numaOf.get(toUuid(id))),
    );
    expect(touched).toEqual([[0], [1, 1, 1, 1], [0, 0, 0]]);
  });

  it('is never part of a bare-metal machine', async () => {
    const region = ground.newRegion({ offer: 'bare-metal' });
    await region.seed({ nodes: 1, offer: 'bare-metal' });
    expect(await outcomeOf(region.place({ gpusPerNode: 4 }))).toBe(full);
    expect(await outcomeOf(region.place({ gpusPerNode: 8 }))).toBe(free);
  });
});

describe('placement requirements', () => {
  it('match region, GPU type, network and offer exactly', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1 });
    expect(await outcomeOf(region.place({ region: 'elsewhere' }))).toBe(full);
    expect(await outcomeOf(region.place({ gpuType: 'h200' }))).toBe(full);
    expect(await outcomeOf(region.place({ connectionType: 'infiniband' }))).toBe(full);
    expect(await outcomeOf(region.place({ offer: 'marketplace' }))).toBe(full);
    expect(await outcomeOf(region.place({ gpusPerNode: 9 }))).toBe(full);
    expect(await outcomeOf(region.place())).toBe(free);
  });

  it('treat CUDA as a minimum', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, cuda: '12.8' });
    expect(await outcomeOf(region.place({ cuda: 1209 }))).toBe(full);
    expect(await outcomeOf(region.place({ cuda: 1300 }))).toBe(full);
    expect(await outcomeOf(region.place({ cuda: 1208 }))).toBe(free);
    expect(await outcomeOf(region.place({ cuda: 1104 }))).toBe(free);
  });

  it('exclude the nodes in except and select the node in only', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 3 });
    const [first, second, third] = nodeIds;
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('Three nodes were inserted.');
    expect(nodesOf(await region.place({ except: [first, third] }))).toEqual([second]);
    expect(await outcomeOf(region.place({ except: nodeIds }))).toBe(full);
    expect(nodesOf(await region.place({ only: third }))).toEqual([third]);
    expect(await outcomeOf(region.place({ only: third, gpusPerNode: 8 }))).toBe(full);
    expect(await outcomeOf(region.place({ only: third, except: [third] }))).toBe(full);
    expect(await outcomeOf(region.place({ only: testIds.next('nod') }))).toBe(full);
  });

  it('never place a test request on a live node or the reverse, not even with raw SQL', async () => {
    const [live, test] = [ground.newRegion(), ground.newRegion({ mode: 'test' })];
    const { nodeIds } = await live.seed({ nodes: 1 });
    await test.seed({ nodes: 1, mode: 'test' });
    expect(await outcomeOf(live.place({ mode: 'test' }))).toBe(full);
    expect(await outcomeOf(test.place({ mode: 'live' }))).toBe(full);
    const placement = await test.place();

    const [node] = nodeIds.map(toUuid);
    const sell = (mode: string) =>
      ground.query(
        `insert into allocated_gpus (allocation_id, gpu_id, node_id, org_id, mode)
         select $1, id, node_id, $2, $3 from gpus where node_id = $4 limit 1`,
        [toUuid(placement.allocationId), toUuid(ground.orgId), mode, node],
      );
    await expect(sell('test')).rejects.toThrow(/sells nothing in mode test/);
    await expect(sell('live')).rejects.toThrow(/foreign key.*allocation_id_mode/);
    await expect(
      ground.query(`update node_capacity set mode = 'test' where node_id = $1`, [node]),
    ).rejects.toThrow(/foreign key/);
  });

  it.each(['ready', 'open'])('exclude a node that is not %s', async (column) => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 2 });
    const [closed, other] = nodeIds;
    if (closed === undefined || other === undefined) throw new Error('Two nodes were inserted.');
    await ground.query(`update node_capacity set ${column} = false where node_id = $1`, [toUuid(closed)]);
    expect(nodesOf(await region.place({ gpusPerNode: 8 }))).toEqual([other]);
    expect(await outcomeOf(region.place())).toBe(full);
    expect(await outcomeOf(region.place({ only: closed }))).toBe(full);
  });

  it('exclude missing GPUs, and include them again when they return', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 2 });
    const [lost] = gpusOf(await region.place());
    if (lost === undefined) throw new Error('One GPU was placed.');
    const state = (to: string) =>
      ground.query('update gpus set state = $2 where id = $1', [toUuid(lost), to]);
    await state('missing');
    expect(await ground.violations()).toEqual([]);
    expect(await outcomeOf(region.place({ gpusPerNode: 2 }))).toBe(full);
    const other = await region.place();
    expect(await outcomeOf(region.place())).toBe(full);
    await state('present');
    expect(await outcomeOf(region.place())).toBe(full);
    await region.release(other);
    expect(gpusOf(await region.place())).toEqual(gpusOf(other));
  });
});

describe('an unobserved cluster', () => {
  it('is not used: place fails with 503 and a Retry-After', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 2, watchedAt: unwatched() });
    const fault = await region.place().then(
      () => null,
      (error: Fault) => error,
    );
    expect(fault).toMatchObject({
      reason: 'SERVICE_UNAVAILABLE',
      retryAfterSeconds: 60,
      message: /have not been checked/,
    });
  });

  it('is passed over for an observed one, for any number of nodes and any fit', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 100, gpusPerNode: 1, watchedAt: unwatched() });
    const { nodeIds } = await region.seed({ nodes: 1 });
    expect(nodesOf(await region.place())).toEqual(nodeIds);
    expect(await outcomeOf(region.place({ except: nodeIds }))).toBe('SERVICE_UNAVAILABLE');
  });

  it('is passed over for an observed one also for a gang', async () => {
    const region = ground.newRegion({ offer: 'bare-metal', gpusPerNode: 8, nodeCount: 2, ports: [] });
    await region.seed({ nodes: 200, fabricSize: 2, offer: 'bare-metal', watchedAt: unwatched() });
    const { nodeIds } = await region.seed({ nodes: 3, offer: 'bare-metal' });
    expect(nodesOf(await region.place())).toEqual(nodeIds.slice(0, 2));
    expect(await outcomeOf(region.place())).toBe('SERVICE_UNAVAILABLE');
  });
});

describe('a gang', () => {
  const gang = { offer: 'bare-metal', gpusPerNode: 8, nodeCount: 4, ports: [] } as const;

  it('needs whole nodes of one fabric; nodes on two fabrics do not suffice', async () => {
    const region = ground.newRegion(gang);
    await region.seed({ nodes: 6, fabricSize: 3, offer: 'bare-metal' });
    expect(await outcomeOf(region.place())).toBe(full);
    const placement = await region.place({ nodeCount: 3 });
    expect(new Set(nodesOf(placement)).size).toBe(3);
    expect(gpusOf(placement)).toHaveLength(24);
  });

  it('excludes nodes with an allocated or missing GPU', async () => {
    const region = ground.newRegion({ ...gang, offer: 'virtual-machine' });
    const { nodeIds } = await region.seed({ nodes: 5 });
    const [sold = null, broken] = nodeIds;
    if (broken === undefined) throw new Error('Five nodes were inserted.');
    await region.place({ nodeCount: 1, gpusPerNode: 1, only: sold });
    expect(await outcomeOf(region.place())).toBe(free);
    const other = ground.newRegion({ ...gang, offer: 'virtual-machine' });
    const inserted = await other.seed({ nodes: 4 });
    await ground.query(
      `update gpus set state = 'missing' where id = (select id from gpus where node_id = $1 limit 1)`,
      inserted.nodeIds.slice(0, 1).map(toUuid),
    );
    expect(await outcomeOf(other.place())).toBe(full);
  });

  it('takes the smallest fabric that fits, so that large ones stay free', async () => {
    const region = ground.newRegion(gang);
    await region.seed({ nodes: 9, offer: 'bare-metal' });
    const { nodeIds } = await region.seed({ nodes: 4, offer: 'bare-metal' });
    expect(nodesOf(await region.place())).toEqual(nodeIds);
  });

  it('may be larger than the number of idle nodes that are counted per fabric', async () => {
    const region = ground.newRegion({ offer: 'bare-metal', gpusPerNode: 8, ports: [] });
    await region.seed({ nodes: 131, offer: 'bare-metal' });
    expect(nodesOf(await region.place({ nodeCount: 130 }))).toHaveLength(130);
  });

  it('finds its fabric among more idle nodes than the first sample reads', async () => {
    const region = ground.newRegion(gang);
    await region.seed({ nodes: 2 * FABRIC_SAMPLE + 150, fabricSize: 2, offer: 'bare-metal' });
    const { nodeIds } = await region.seed({ nodes: 4, offer: 'bare-metal' });
    expect(nodesOf(await region.place())).toEqual(nodeIds);
    expect(await outcomeOf(region.place())).toBe(full);
  });
});
