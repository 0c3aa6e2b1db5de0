import { toUuid } from '@millrace/platform/ids';
import { createOrganisation } from '@millrace/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { gpusOf, openPlacementHarness, outcomeOf } from './placement.fixture.ts';
import type { Placement } from './placement.ts';

const ground = await openPlacementHarness(8);

afterEach(async () => expect(await ground.violations()).toEqual([]));

afterAll(() => ground.database.drop());

const full = 'INSUFFICIENT_CAPACITY';

const nodesOf = (placement: Placement) => placement.nodes.map(({ nodeId }) => nodeId);

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
