import type { InventoryNode } from '@millrace/compute';
import { eventually } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFleetHarness, gpu, node, SECOND_MS, type FleetHarness } from './fleet.fixture.ts';
import { transitionNode, place, releaseAllocation, type FleetSync, type PollResult } from './index.ts';
import { placementRequestFor } from './placement-request.fixture.ts';

/** Tests engines with invalid reports, and devices that moved. */

let harness: FleetHarness;
let sync: FleetSync;

beforeEach(async () => {
  harness = await createFleetHarness();
  sync = harness.worker('one');
  await harness.configure('a', 'b');
});
afterEach(() => harness.drop());

async function look(cluster = 'a'): Promise<PollResult> {
  await sync.tick();
  return sync.look(await harness.clusterId(cluster));
}

async function read(cluster = 'a'): Promise<void> {
  const report = await look(cluster);
  expect(report.outcome).toBe('read');
}

async function later(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5 * SECOND_MS) {
    await harness.clock.advance(5 * SECOND_MS);
    await sync.tick();
  }
}

/** Allocates GPUs as a rental does; returns a function that releases them. */
async function rent(gpusPerNode: number, externalId = '01980000-0000-7000-8000-000000000001') {
  const orgId = await harness.organisation();
  const request = placementRequestFor(orgId, 'eu', { gpusPerNode, externalId });
  const options = { name: 'rent', isolation: 'read committed' } as const;
  const placement = await harness.db.transaction(options, (tx) => place(tx, request));
  return () => harness.db.transaction(options, (tx) => releaseAllocation(tx, orgId, placement.allocationId));
}

async function resume(name: string): Promise<void> {
  const { id } = await harness.node(name);
  const actor = { kind: 'operator', id: 'usr_test' } as const;
  await harness.db.transaction({ name: 'resume', isolation: 'read committed' }, (tx) =>
    transitionNode(tx, id, 'node_ready', { reason: 'looked at', actor }),
  );
}

const capacity = () => harness.rows('select gpus_total, gpus_free, gpus_allocated from node_capacity');

describe('a report that does not fit the tables', () => {
  const hardware = node('n1').hardware;
  if (hardware === null) throw new Error('The node has no hardware.');
  const long = (index: number): string => `${'a'.repeat(29)}:${String(index).padStart(2, '0')}`;
  const reports: Readonly<Record<string, InventoryNode>> = {
    'a text that is cut in the middle of a character': node('n1', [], {
      hardware: { ...hardware, cpuModel: `${'x'.repeat(199)}\u{1F600}${'x'.repeat(900)}` },
    }),
    'one address in large and small letters': node('n1', [
      gpu(0, { pciAddress: '0000:AB:00.0' }),
      gpu(1, { pciAddress: '0000:ab:00.0' }),
    ]),
    'a very long reason': {
      name: 'n1',
      reachable: false,
      detail: `${'y'.repeat(998)}\u{1F600}`.repeat(20),
      address: null,
      hardware: null,
    },
  };

  it.each(Object.entries(reports))('is stored or rejected, and polling continues: %s', async (_, bad) => {
    harness.engine('a').nodes = [node('n1'), node('n2')];
    await read();
    for (let round = 0; round < 3; round += 1) {
      harness.engine('a').nodes = [bad, node('n2'), { ...bad, name: `new-${round}` }];
      await later(10 * SECOND_MS);
      await read();
    }
    expect((await harness.node('n2')).status).toBe('node_ready');
  });

  it('gets a short reason when every GPU of a large node is missing', async () => {
    harness.engine('a').nodes = [
      node(
        'n1',
        Array.from({ length: 64 }, (_, index) => gpu(0, { pciAddress: long(index) })),
      ),
    ];
    await read();
    await rent(64);
    harness.engine('a').nodes = [node('n1', [])];
    await read();
    expect((await harness.node('n1')).status).toBe('node_quarantined');
  });

  it('counts as no response when it cannot be stored, so that nothing outdated is sold', async () => {
    harness.engine('a').nodes = [node('n1')];
    await read();
    const owner = await harness.database.connect();
    await owner.query(`alter table nodes add constraint unwritable check (name <> 'poison')`);
    await owner.end();
    harness.engine('a').nodes = [node('n1'), node('poison')];
    expect(await look()).toMatchObject({
      outcome: 'waiting',
      problem: expect.stringContaining('unwritable'),
    });
    const outcomes: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      await harness.clock.advance(10 * SECOND_MS);
      outcomes.push((await look()).outcome);
    }
    expect(outcomes).toContain('silent');
    expect(await harness.node('n1')).toMatchObject({ status: 'node_offline', placeable: false });
    harness.engine('a').nodes = [node('n1')];
    await read();
    expect(await harness.node('n1')).toMatchObject({ status: 'node_ready', placeable: true });
  });
});

it('a poll that never ends is abandoned, and another one starts', async () => {
  const running = harness.worker('one', {
    tuning: { heartbeatMs: 20, retryMs: 20, readEveryMs: 20, silentMs: 0, lookTimeoutMs: 2_000 },
  });
  const engine = harness.engine('a');
  engine.nodes = null;
  engine.closing = () => new Promise(() => undefined);
  const hasStatus = (status: string) =>
    eventually(
      { what: `the cluster is ${status}` },
      async () => (await harness.cluster('a')).status === status,
    );
  running.start();
  try {
    await hasStatus('silent');
    engine.nodes = [node('n1')];
    await hasStatus('connected');
  } finally {
    engine.closing = async () => undefined;
    await running.stop();
  }
});

describe('an allocated GPU whose address has another device', () => {
  it('keeps the new device out of sale until the allocation is released', async () => {
    harness.engine('a').nodes = [node('n1', [gpu(0, { uuid: 'GPU-old' })])];
    await read();
    const giveBack = await rent(1);
    harness.engine('a').nodes = [node('n1', [gpu(0, { uuid: 'GPU-new' })])];
    await read();
    expect((await harness.node('n1')).status).toBe('node_quarantined');
    await resume('n1');
    expect(await capacity()).toEqual([{ gpus_total: 0, gpus_free: 0, gpus_allocated: 1 }]);
    await read();
    expect(await capacity()).toEqual([{ gpus_total: 0, gpus_free: 0, gpus_allocated: 1 }]);
    await giveBack();
    await read();
    expect(await capacity()).toEqual([{ gpus_total: 1, gpus_free: 1, gpus_allocated: 0 }]);
    const rows = await harness.rows('select device_uuid, state from gpus order by state');
    expect(rows).toEqual([
      { device_uuid: 'GPU-new', state: 'present' },
      { device_uuid: 'GPU-old', state: 'replaced' },
    ]);
  });

  it("keeps its identity while a machine uses it and the host's driver cannot read it", async () => {
    const named = (slot: number) => gpu(slot, { uuid: `GPU-${slot}` });
    harness.engine('a').nodes = [node('n1', [named(0), named(1), named(2)])];
    await read();
    await rent(2);
    const bare = { uuid: null, driverVersion: null, cudaVersion: null };
    harness.engine('a').nodes = [
      node('n1', [
        gpu(0, { ...bare, model: 'GH100 [H100 SXM5 80GB]' }),
        gpu(1, { ...bare, model: 'NVIDIA 2330' }),
        named(2),
      ]),
    ];
    await read();
    expect(await harness.node('n1')).toMatchObject({
      status: 'node_ready',
      statusReason: null,
      placeable: true,
    });
    expect(await capacity()).toEqual([{ gpus_total: 3, gpus_free: 1, gpus_allocated: 2 }]);
    harness.engine('a').nodes = [node('n1', [named(0), named(1), named(2)])];
    await read();
    expect(await harness.rows('select distinct state, model from gpus')).toEqual([
      { state: 'present', model: 'NVIDIA H100 80GB HBM3' },
    ]);
  });
});

describe('a device of a stored node', () => {
  const own = () => [gpu(0, { uuid: 'GPU-1' }), gpu(1, { uuid: 'GPU-2' })];

  it('is not sold a second time when its node is renamed', async () => {
    harness.engine('a').nodes = [node('n1', own())];
    await read();
    await rent(2);
    harness.engine('a').nodes = [node('renamed', own())];
    await read();
    expect(await harness.node('renamed')).toMatchObject({ status: 'node_quarantined', placeable: false });
    expect((await harness.node('renamed')).statusReason).toContain('n1');
    await expect(rent(1, '01980000-0000-7000-8000-000000000002')).rejects.toThrow();
  });

  it('is not sold a second time when another cluster reports it', async () => {
    harness.engine('a').nodes = [node('n1', own())];
    await read('a');
    harness.engine('b').nodes = [node('n1', own()), node('n2', [gpu(0, { uuid: 'GPU-3' })])];
    await read('b');
    const found =
      await harness.rows(`select node.name, cluster.name as cluster, node.status from nodes as node
      join clusters as cluster on cluster.id = node.cluster_id order by cluster.name, node.name`);
    expect(found).toEqual([
      { name: 'n1', cluster: 'a', status: 'node_ready' },
      { name: 'n1', cluster: 'b', status: 'node_quarantined' },
      { name: 'n2', cluster: 'b', status: 'node_ready' },
    ]);
  });

  it('may move to another node and slot of its cluster', async () => {
    harness.engine('a').nodes = [node('n1', own()), node('n2', [gpu(0, { uuid: 'GPU-3' })])];
    await read();
    const moved = [gpu(0, { uuid: 'GPU-3' }), gpu(1, { uuid: 'GPU-2' })];
    harness.engine('a').nodes = [node('n1', [gpu(5, { uuid: 'GPU-1' })]), node('n2', moved)];
    await read();
    expect(await harness.statuses()).toEqual({ n1: 'node_ready', n2: 'node_ready' });
    const rows =
      await harness.rows(`select device_uuid, node.name from gpus join nodes as node on node.id = node_id
      where state = 'present' order by device_uuid`);
    expect(rows).toEqual([
      { device_uuid: 'GPU-1', name: 'n1' },
      { device_uuid: 'GPU-2', name: 'n2' },
      { device_uuid: 'GPU-3', name: 'n2' },
    ]);
  });
});
