import { systemClock } from '@millrace/platform/clock';
import type { Fault } from '@millrace/platform/fault';
import { toUuid } from '@millrace/platform/ids';
import { createOrganisation, testIds } from '@millrace/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { findPlacement, markReleasing, setFreesAt } from './allocations.store.ts';
import { gpusOf, openPlacementHarness, placementTransaction, outcomeOf } from './placement.fixture.ts';
import type { Placement } from './placement.ts';
import { place, OBSERVATION_MAX_AGE_MS } from './placement.service.ts';
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

const ssh = { internalPort: 22, protocol: 'tcp' } as const;

describe('port assignment', () => {
  it('is unique per node and protocol, and reuses released ports', async () => {
    const region = ground.newRegion({
      ports: [ssh, { internalPort: 80, protocol: 'tcp' }, { internalPort: 53, protocol: 'udp' }],
    });
    await region.seed({ nodes: 1, portRange: [30_000, 30_003] });
    const tcpPorts = (placement: Placement) =>
      externalPorts(placement)
        .slice(0, 2)
        .toSorted((one, other) => one - other);
    const first = await region.place();
    const second = await region.place();
    expect(new Set([...tcpPorts(first), ...tcpPorts(second)])).toEqual(
      new Set([30_000, 30_001, 30_002, 30_003]),
    );
    expect(externalPorts(first)[2]).not.toBe(externalPorts(second)[2]);
    expect(await outcomeOf(region.place())).toBe(full);
    await region.release(first);
    expect(tcpPorts(await region.place())).toEqual(tcpPorts(first));
  });

  it('rarely reuses a port that was just released', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1 });
    const given = new Set<number>();
    for (let time = 0; time < 5; time += 1) {
      const placement = await region.place();
      given.add(externalPorts(placement)[0] ?? 0);
      await region.release(placement);
    }
    expect(given.size).toBeGreaterThan(1);
  });

  it('uses another node if the best node has no free ports', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 1, portRange: [30_000, 30_001] });
    const { nodeIds: others } = await region.seed({ nodes: 1 });
    const [only = null] = nodeIds;
    await region.place({ only });
    await region.place({ only });
    expect(nodesOf(await region.place())).toEqual(others);
    await expect(region.place({ only })).rejects.toMatchObject({ reason: full, message: /no ports left/ });
    expect(nodesOf(await region.place({ only, ports: [] }))).toEqual(nodeIds);
  });

  it('finds a node with free ports behind more full nodes than are tried one by one', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 100, gpusPerNode: 2, portRange: [30_000, 30_000] });
    for (const only of nodeIds) await region.place({ only });
    const { nodeIds: others } = await region.seed({ nodes: 1 });
    expect(nodesOf(await region.place())).toEqual(others);
    await expect(region.place({ except: others })).rejects.toMatchObject({
      reason: full,
      message: /no ports left/,
    });
  });

  it('covers each node of a gang and avoids nodes without free ports', async () => {
    const region = ground.newRegion({ offer: 'bare-metal', gpusPerNode: 8, nodeCount: 2 });
    await region.seed({ nodes: 2, offer: 'bare-metal', portRange: [30_000, 30_000] });
    const { nodeIds } = await region.seed({ nodes: 3, offer: 'bare-metal' });
    const ports = [ssh, { internalPort: 80, protocol: 'tcp' } as const];
    const placement = await region.place({ ports });
    expect(nodesOf(placement)).toEqual(nodeIds.slice(0, 2));
    expect(placement.nodes.map((node) => node.ports.length)).toEqual([2, 2]);
    await expect(region.place({ ports })).rejects.toMatchObject({ reason: full, message: /no ports left/ });
    expect(await outcomeOf(region.place())).toBe(free);
  });
});

describe('machines with their own address', () => {
  it("get no ports and use none of the cluster's range", async () => {
    const region = ground.newRegion({ offer: 'bare-metal', gpusPerNode: 8, nodeCount: 2 });
    await region.seed({ nodes: 4, offer: 'bare-metal', driver: 'ironic', portRange: [30_000, 30_000] });
    const ports = [ssh, { internalPort: 80, protocol: 'tcp' } as const];
    for (const placement of [await region.place({ ports }), await region.place({ ports })]) {
      expect(placement.nodes.map((node) => node.ports)).toEqual([[], []]);
    }
    expect(await outcomeOf(region.place({ ports }))).toBe(full);
  });

  it('are found after an unobserved node was rejected', async () => {
    const region = ground.newRegion({ offer: 'bare-metal', gpusPerNode: 8 });
    await region.seed({ nodes: 1, offer: 'bare-metal', driver: 'ironic', watchedAt: unwatched() });
    const { nodeIds } = await region.seed({
      nodes: 1,
      offer: 'bare-metal',
      driver: 'ironic',
      portRange: [30_000, 30_000],
    });
    const ports = [ssh, { internalPort: 80, protocol: 'tcp' } as const];
    expect(nodesOf(await region.place({ ports }))).toEqual(nodeIds);
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

describe('releaseAllocation', () => {
  it('frees GPUs and ports once, and returns true once', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1, portRange: [30_000, 30_000] });
    const placement = await region.place();
    expect(await outcomeOf(region.place())).toBe(full);
    expect([await region.release(placement), await region.release(placement)]).toEqual([true, false]);
    const next = await region.place();
    expect(gpusOf(next)).toEqual(gpusOf(placement));
    expect(await region.release(placement)).toBe(false);
    expect(await outcomeOf(region.place())).toBe(full);
  });

  it('does nothing for another organisation', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const { db } = ground.database;
    const placement = await region.place();
    const outsider = await createOrganisation(db);
    expect(await region.release(placement, outsider)).toBe(false);
    expect(
      await db.transaction(placementTransaction, (tx) => markReleasing(tx, outsider, placement.allocationId)),
    ).toBe(false);
    await db.transaction(placementTransaction, (tx) =>
      setFreesAt(tx, outsider, placement.allocationId, new Date(0)),
    );
    const [row] = await ground.query('select state, frees_at from allocations where id = $1', [
      toUuid(placement.allocationId),
    ]);
    expect(row).toEqual({ state: 'live', frees_at: null });
    expect(await outcomeOf(region.place())).toBe(full);
  });

  it('keeps the GPUs reserved after markReleasing until the engine confirms the deletion', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const { db } = ground.database;
    const placement = await region.place();
    const mark = () =>
      db.transaction(placementTransaction, (tx) => markReleasing(tx, ground.orgId, placement.allocationId));
    expect([await mark(), await mark()]).toEqual([true, false]);
    expect(await findPlacement(db, ground.orgId, placement.externalId)).toBeNull();
    expect(await outcomeOf(region.place())).toBe(full);
    expect(await region.release(placement)).toBe(true);
    expect(await mark()).toBe(false);
    expect(await outcomeOf(region.place())).toBe(free);
  });

  it('lets a machine get new GPUs while its old allocation is releasing', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 2, gpusPerNode: 1 });
    const externalId = testIds.nextUuid();
    const before = await region.place({ externalId });
    const after = await ground.database.db.transaction(placementTransaction, async (tx) => {
      await markReleasing(tx, ground.orgId, before.allocationId);
      return place(tx, region.request({ externalId, except: nodesOf(before) }));
    });
    expect(gpusOf(after)).not.toEqual(gpusOf(before));
    expect(await region.release(before)).toBe(true);
    expect(await findPlacement(ground.database.db, ground.orgId, externalId)).toEqual(after);
  });
});

describe('transaction rollback', () => {
  it('leaves nothing of a placement', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const failing = ground.database.db.transaction(placementTransaction, async (tx) => {
      await place(tx, region.request());
      throw new Error('the money was short');
    });
    await expect(failing).rejects.toThrow('the money was short');
    expect(await outcomeOf(region.place())).toBe(free);
  });

  it('does not happen when capacity is insufficient and the caller continues', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const [placed, refused] = await ground.database.db.transaction(placementTransaction, async (tx) => [
      await place(tx, region.request()),
      await outcomeOf(place(tx, region.request())),
    ]);
    expect(refused).toBe(full);
    expect(await region.release(placed as Placement)).toBe(true);
  });
});

describe('database constraints', () => {
  it('reject a second allocation of a GPU, also with all triggers disabled', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 1, gpusPerNode: 2 });
    const [sold, other] = [await region.place(), await region.place()];
    const client = await ground.database.connect();
    try {
      for (const role of ['origin', 'replica']) {
        await client.query(`set session_replication_role = ${role}`);
        await expect(
          client.query(
            `insert into allocated_gpus (allocation_id, gpu_id, node_id, org_id, mode) values ($1, $2, $3, $4, 'live')`,
            [
              toUuid(other.allocationId),
              ...gpusOf(sold).map(toUuid),
              ...nodeIds.map(toUuid),
              toUuid(ground.orgId),
            ],
          ),
        ).rejects.toThrow('allocated_gpus_sold_once_idx');
        await expect(
          client.query(`update allocated_gpus set gpu_id = $2 where allocation_id = $1`, [
            toUuid(other.allocationId),
            ...gpusOf(sold).map(toUuid),
          ]),
        ).rejects.toThrow('allocated_gpus_sold_once_idx');
      }
    } finally {
      await client.end();
    }
  });

  it('reject undoing a release once the GPU is allocated again', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const before = await region.place();
    await region.release(before);
    await region.place();
    await expect(
      ground.query('update allocated_gpus set released_at = null where allocation_id = $1', [
        toUuid(before.allocationId),
      ]),
    ).rejects.toThrow('allocated_gpus_sold_once_idx');
  });

  it('reject the state replaced for an allocated GPU', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 1 });
    const placement = await region.place();
    const replace = () =>
      ground.query(`update gpus set state = 'replaced' where id = $1`, gpusOf(placement).map(toUuid));
    await expect(replace()).rejects.toThrow(/is sold and cannot be replaced/);
    await region.release(placement);
    await replace();
  });

  it('reject rows of another organisation in an allocation', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 1, gpusPerNode: 2 });
    const placement = await region.place();
    const [allocation, node] = [toUuid(placement.allocationId), ...nodeIds.map(toUuid)];
    const outsider = toUuid(await createOrganisation(ground.database.db));
    await expect(
      ground.query(
        `insert into allocated_gpus (allocation_id, gpu_id, node_id, org_id, mode)
         select $1, id, node_id, $2, 'live' from gpus
          where node_id = $3 and id not in (select gpu_id from allocated_gpus)`,
        [allocation, outsider, node],
      ),
    ).rejects.toThrow(/foreign key/);
    await expect(
      ground.query(
        `insert into allocated_ports (allocation_id, node_id, org_id, mode, protocol, external_port, internal_port)
         values ($1, $3, $2, 'live', 'tcp', 20007, 22)`,
        [allocation, outsider, node],
      ),
    ).rejects.toThrow(/foreign key/);
  });

  it.each([
    `update node_capacity set gpus_free = 8`,
    `update allocated_gpus set gpu_id = gpu_id`,
    `update allocated_gpus set node_id = node_id`,
    `update allocations set org_id = org_id`,
    `update allocated_ports set external_port = 1`,
    `delete from allocated_gpus`,
    `delete from allocations`,
    `delete from node_capacity`,
    `select recount_node(gen_random_uuid())`,
    `update node_capacity set idle = true`,
    `update node_capacity set placeable = true`,
    `update node_capacity set pool = 1`,
    `insert into node_capacity (node_id, gpus_free) values (gen_random_uuid(), 8)`,
    `insert into node_capacity (node_id, idle) values (gen_random_uuid(), true)`,
    `update gpus set node_id = node_id`,
    `update gpus set pci_address = pci_address`,
  ])('deny the application role: %s', async (statement) => {
    const client = await ground.database.connect();
    try {
      await client.query('set role millrace_app');
      await expect(client.query(statement)).rejects.toThrow('permission denied');
    } finally {
      await client.end();
    }
  });

  it('recount a node with wrong counts at its next change', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 2, gpusPerNode: 4 });
    const [damaged, sound] = nodeIds;
    if (damaged === undefined || sound === undefined) throw new Error('Two nodes were inserted.');
    await ground.query(
      `update node_capacity set gpus_free = 3, gpus_allocated = 0, largest_numa_free = 2
                         where node_id = $1`,
      [toUuid(damaged)],
    );
    const placement = await region.place({ gpusPerNode: 2 });
    expect(nodesOf(placement)).toEqual([damaged]);
    expect(await ground.violations()).toEqual([]);
  });

  it('do not let a node with wrong counts block placements on other nodes', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 2, gpusPerNode: 1 });
    const [damaged, sound] = nodeIds;
    if (damaged === undefined || sound === undefined) throw new Error('Two nodes were inserted.');
    await region.place({ only: damaged });
    const count = (left: number) =>
      ground.query('update node_capacity set gpus_free = $2, largest_numa_free = $2 where node_id = $1', [
        toUuid(damaged),
        left,
      ]);
    await count(1);
    expect(nodesOf(await region.place())).toEqual([sound]);
    expect(await outcomeOf(region.place())).toBe(full);
    await count(0);
  });
});
