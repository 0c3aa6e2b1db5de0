import { toUuid } from '@millrace/platform/ids';
import { eventually } from '@millrace/testing';
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  gpusOf,
  holdPlacement,
  openPlacementHarness,
  placementTransaction,
  outcomeOf,
  waitUntilBlocked,
  type PlacementHarness,
  type PlacementRegion,
} from './placement/placement.fixture.ts';
import type { Placement, PlacementRequest } from './placement/placement.ts';
import { place } from './placement/placement.service.ts';

/**
 * Tests a node that changes between the search and the lock of a placement, which are one statement. `pool_of` waits
 * while a gate is closed: the statement has its snapshot of the rows by then, and no lock.
 */

const GATE = 4711;
const full = 'INSUFFICIENT_CAPACITY';

let ground: PlacementHarness;

beforeAll(async () => {
  ground = await openPlacementHarness(8);
  await ground.query(`
    create or replace function pool_of(mode text, offer text, region text, gpu_type text, connection_type text)
      returns bigint language plpgsql volatile as $$
    begin
      perform pg_advisory_lock_shared(${GATE});
      perform pg_advisory_unlock_shared(${GATE});
      return hashtextextended(mode || ' ' || offer || ' ' || region || ' ' || coalesce(gpu_type, '') || ' ' || connection_type, 0);
    end $$`);
});
afterEach(async () => expect(await ground.violations()).toEqual([]));
afterAll(() => ground.database.drop());

/** Starts a placement, runs `meanwhile` between its search and its lock, and returns its result. */
async function between<T>(begin: () => Promise<T>, meanwhile: () => Promise<unknown>): Promise<T> {
  const gate = await ground.database.connect();
  try {
    await gate.query('select pg_advisory_lock($1)', [GATE]);
    const started = begin();
    started.catch(() => undefined);
    await waitUntilBlocked(ground, 1);
    await meanwhile();
    await gate.query('select pg_advisory_unlock($1)', [GATE]);
    return await started;
  } finally {
    await gate.end();
  }
}

async function held(region: PlacementRegion, fields: Partial<PlacementRequest> = {}) {
  const holder = holdPlacement(ground, region.request(fields));
  await holder.placed;
  return holder;
}

const ports = ({ nodes }: Placement) => nodes.flatMap((node) => node.ports.map((port) => port.externalPort));

describe('a node that changed between search and lock', () => {
  it('gives only GPUs and ports that are still free', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 4 });
    const first = await held(region, { gpusPerNode: 3 });
    const late = await between(
      () => region.place(),
      () => first.end('commit'),
    );
    expect(gpusOf(await first.placed)).not.toContain(gpusOf(late)[0]);
    expect(ports(await first.placed)).not.toContain(ports(late)[0]);
  });

  it('is skipped for another node if it no longer fits', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 2, gpusPerNode: 4 });
    const first = await held(region);
    const [taken] = (await first.placed).nodes;
    // The search sees fewer free GPUs on this node, so it is tried first.
    await region.place({ gpusPerNode: 1, only: nodeIds.find((id) => id !== taken?.nodeId) ?? null });
    await first.end('rollback');
    const tight = await held(region, { gpusPerNode: 2 });
    const [tightNode] = (await tight.placed).nodes;
    const late = await between(
      () => region.place({ gpusPerNode: 3 }),
      () => tight.end('commit'),
    );
    expect(late.nodes[0]?.nodeId).not.toBe(tightNode?.nodeId);
  });

  it('is not used if it was drained, nor a GPU that became missing', async () => {
    const region = ground.newRegion();
    const { nodeIds } = await region.seed({ nodes: 1, gpusPerNode: 2 });
    const [node] = nodeIds.map(toUuid);
    const losing = await open(
      `update gpus set state = 'missing' where pci_address = '0000:81:00.0' and node_id = $1`,
      node,
    );
    const late = await between(
      () => region.place(),
      () => losing.query('commit'),
    );
    expect(late.nodes[0]?.gpus[0]?.pciAddress).toBe('0000:82:00.0');
    await losing.end();
    await region.release(late);
    const draining = await open('update node_capacity set ready = false where node_id = $1', node);
    const refused = await between(
      () => outcomeOf(region.place()),
      () => draining.query('commit'),
    );
    expect(refused).toBe(full);
    await draining.end();
  });

  it('is used with the capacity that was released', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 1, gpusPerNode: 2, portRange: [20_000, 20_000] });
    const before = await region.place();
    const releasing = await open(
      'update allocated_gpus set released_at = now() where allocation_id = $1',
      toUuid(before.allocationId),
    );
    await releasing.query('update allocated_ports set released_at = now() where allocation_id = $1', [
      toUuid(before.allocationId),
    ]);
    await releasing.query(`update allocations set state = 'released', released_at = now() where id = $1`, [
      toUuid(before.allocationId),
    ]);
    const late = await between(
      () => region.place(),
      () => releasing.query('commit'),
    );
    expect(ports(late)).toEqual([20_000]);
    await releasing.end();
  });

  it('does not cause a refusal: a placement that cannot release its lock starts over and waits', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 2, gpusPerNode: 1 });
    const [first, second] = [await held(region), await held(region)];
    const [again, request] = [{ ...placementTransaction, maxAttempts: 5 }, region.request()];
    const outcome = between(
      () => outcomeOf(ground.database.db.transaction(again, (tx) => place(tx, request))),
      () => first.end('commit'),
    );
    await eventually({ what: 'the placement to wait for a row' }, async () => {
      const waiting = await ground.query(
        `select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'`,
      );
      return waiting.length === 1;
    });
    await second.end('rollback');
    expect(await outcome).toBe('placed');
  });

  it('is reported as full also to a placement that cannot release its lock', async () => {
    const region = ground.newRegion();
    await region.seed({ nodes: 2, gpusPerNode: 1 });
    const [first, second] = [await held(region), await held(region)];
    const outcome = await between(
      () => outcomeOf(region.place()),
      () => Promise.all([first.end('commit'), second.end('commit')]),
    );
    expect(outcome).toBe(full);
  });
});

describe('a gang with a node that changed between search and lock', () => {
  const gang = { offer: 'bare-metal', gpusPerNode: 8, nodeCount: 3, ports: [] } as const;
  const nodesOf = ({ nodes }: Placement) => nodes.map(({ nodeId }) => nodeId);

  it('gets another node of the fabric, or is refused', async () => {
    const region = ground.newRegion(gang);
    await region.seed({ nodes: 4, offer: 'bare-metal' });
    const first = await held(region, { nodeCount: 1 });
    const late = await between(
      () => region.place(),
      () => first.end('commit'),
    );
    expect(new Set([...nodesOf(late), ...nodesOf(await first.placed)]).size).toBe(4);
    await region.release(late);
    const second = await held(region, { nodeCount: 1 });
    const refused = await between(
      () => outcomeOf(region.place()),
      () => second.end('commit'),
    );
    expect(refused).toBe(full);
    expect(await outcomeOf(region.place({ nodeCount: 2 }))).toBe('placed');
  });

  it('excludes a node that lost a GPU, and uses one whose holder rolled back', async () => {
    const region = ground.newRegion(gang);
    const { nodeIds } = await region.seed({ nodes: 3, offer: 'bare-metal' });
    const first = await held(region);
    const late = await between(
      () => region.place(),
      () => first.end('rollback'),
    );
    expect(nodesOf(late)).toEqual(nodeIds);
    await region.release(late);
    const losing = await open(
      `update gpus set state = 'missing' where pci_address = '0000:81:00.0' and node_id = $1`,
      ...nodeIds.slice(1, 2).map(toUuid),
    );
    const refused = await between(
      () => outcomeOf(region.place()),
      () => losing.query('commit'),
    );
    expect(refused).toBe(full);
    await losing.end();
  });
});

async function open(statement: string, ...values: unknown[]): Promise<Client> {
  const client = await ground.database.connect();
  await client.query('begin');
  await client.query(statement, values);
  return client;
}
