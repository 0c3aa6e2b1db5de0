import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createFleetHarness,
  gpu,
  node,
  unreachable,
  type FleetHarness,
  MINUTE_MS,
  SECOND_MS,
} from '../fleet.fixture.ts';
import { transitionNode, place, type FleetSync } from '../index.ts';
import { placementRequestFor } from '../placement-request.fixture.ts';

let harness: FleetHarness;
let sync: FleetSync;

beforeEach(async () => {
  harness = await createFleetHarness();
  sync = harness.worker('one');
  await harness.configure('a');
});
afterEach(() => harness.drop());

const read = async (cluster = 'a'): Promise<void> => {
  await sync.tick();
  const report = await sync.look(await harness.clusterId(cluster));
  expect(report.outcome).toBe('read');
};

/** Advances the clock while the worker sends heartbeats. */
const later = async (ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += 5 * SECOND_MS) {
    await harness.clock.advance(5 * SECOND_MS);
    await sync.tick();
  }
};

/** Allocates GPUs as a rental does. */
async function rent(gpusPerNode: number, externalId = '01980000-0000-7000-8000-000000000001') {
  const orgId = await harness.organisation();
  return harness.db.transaction({ name: 'rent', isolation: 'read committed' }, (tx) =>
    place(tx, placementRequestFor(orgId, 'eu', { gpusPerNode, externalId })),
  );
}

const operator = { kind: 'operator', id: 'usr_test' } as const;

async function move(name: string, to: Parameters<typeof transitionNode>[2]) {
  const { id } = await harness.node(name);
  return harness.db.transaction({ name: 'move', isolation: 'read committed' }, (tx) =>
    transitionNode(tx, id, to, { reason: 'asked for', actor: operator }),
  );
}

describe('applying an inventory', () => {
  it('creates nodes that are ready once their hardware was read, and records each transition', async () => {
    harness.engine('a').nodes = [node('n1'), node('n2')];
    await read();
    expect(await harness.statuses()).toEqual({ n1: 'node_ready', n2: 'node_ready' });
    const first = await harness.node('n1');
    expect(first).toMatchObject({
      placeable: true,
      statusReason: null,
      gpuFormFactor: 'sxm5',
      cudaVersion: '13.0',
      cpuCount: 192,
      lastSeenAt: harness.clock.now(),
    });
    expect(first.gpus).toHaveLength(8);
    expect(first.gpus[0]).toMatchObject({ gpuType: 'h100', ramMb: 81_559, numaNode: 0, state: 'present' });
    const steps = await harness.rows(
      'select seq, from_status, to_status from node_transitions order by node_id, seq',
    );
    expect(steps.slice(0, 2)).toEqual([
      { seq: 1, from_status: null, to_status: 'node_registering' },
      { seq: 2, from_status: 'node_registering', to_status: 'node_ready' },
    ]);
    expect(
      await harness.rows('select gpus_total, gpus_free, cuda, ready, open from node_capacity limit 1'),
    ).toEqual([{ gpus_total: 8, gpus_free: 8, cuda: 1300, ready: true, open: true }]);
  });

  it('writes no node, GPU or capacity row when nothing changed', async () => {
    harness.engine('a').nodes = [node('n1'), unreachable('n2')];
    await read();
    await later(30 * SECOND_MS);
    await read();
    await later(30 * SECOND_MS);
    await read();
    const versions = `select xmin::text from nodes union all select xmin::text from gpus
      union all select xmin::text from node_capacity`;
    const before = await harness.rows(versions);
    await later(30 * SECOND_MS);
    await read();
    expect(await harness.rows(versions)).toEqual(before);
    expect((await harness.node('n1')).lastSeenAt).toEqual(harness.clock.now());
  });

  it('stores nodes with unknown, mixed or no GPUs without selling them', async () => {
    harness.engine('a').nodes = [
      node('unknown', [gpu(0, { model: 'Tesla T4' })]),
      node('mixed', [gpu(0), gpu(1, { model: 'NVIDIA H200' })]),
      node('none', []),
    ];
    await read();
    expect(await harness.statuses()).toEqual({
      unknown: 'node_ready',
      mixed: 'node_ready',
      none: 'node_ready',
    });
    for (const name of ['unknown', 'mixed', 'none']) {
      const found = await harness.node(name);
      expect(found.placeable, name).toBe(false);
      expect(found.statusReason, name).not.toBeNull();
    }
    expect((await harness.node('unknown')).gpus[0]).toMatchObject({ model: 'Tesla T4', gpuType: null });
  });

  it('stores the fabric and the connection type that the engine reports', async () => {
    const base = node('n1');
    if (base.hardware === null) throw new Error('The node has no hardware.');
    harness.engine('a').nodes = [
      { ...base, hardware: { ...base.hardware, fabric: 'rail-1', connectionType: 'infiniband' } },
      node('n2'),
    ];
    await read();
    const rows = await harness.rows(`select fabrics.name, connection_type from node_capacity
      left join fabrics on fabrics.id = fabric_id order by fabrics.name`);
    expect(rows).toEqual([
      { name: 'rail-1', connection_type: 'infiniband' },
      { name: null, connection_type: 'ethernet' },
    ]);
  });
});

describe('changed hardware', () => {
  it('keeps an idle node ready with its remaining GPUs and says which are missing', async () => {
    harness.engine('a').nodes = [node('n1')];
    await read();
    harness.engine('a').nodes = [node('n1', [gpu(0), gpu(1)])];
    await read();
    const found = await harness.node('n1');
    expect(found).toMatchObject({ status: 'node_ready', placeable: true });
    expect(found.statusReason).toMatch(/^2 of 8 GPUs: 6 missing/);
    expect(await harness.rows('select gpus_total, gpus_free from node_capacity')).toEqual([
      { gpus_total: 2, gpus_free: 2 },
    ]);
    harness.engine('a').nodes = [node('n1')];
    await read();
    expect(await harness.node('n1')).toMatchObject({ status: 'node_ready', statusReason: null });
    expect(await harness.rows('select gpus_free from node_capacity')).toEqual([{ gpus_free: 8 }]);
  });

  it('quarantines a node that lost an allocated GPU until an operator resumes it', async () => {
    harness.engine('a').nodes = [node('n1')];
    await read();
    const placement = await rent(1);
    const sold = placement.nodes[0]?.gpus[0]?.pciAddress;
    const rest = Array.from({ length: 8 }, (_, index) => gpu(index)).filter((one) => one.pciAddress !== sold);
    harness.engine('a').nodes = [node('n1', rest)];
    await read();
    const found = await harness.node('n1');
    expect(found).toMatchObject({ status: 'node_quarantined', placeable: false });
    expect(found.statusReason).toContain(sold);
    harness.engine('a').nodes = [node('n1')];
    await read();
    expect((await harness.node('n1')).status).toBe('node_quarantined');
    await move('n1', 'node_ready');
    expect(await harness.node('n1')).toMatchObject({ status: 'node_ready', placeable: true });
  });

  it('distinguishes a replaced GPU from one whose UUID became known', async () => {
    harness.engine('a').nodes = [node('n1', [gpu(0, { uuid: 'GPU-old' }), gpu(1)])];
    await read();
    harness.engine('a').nodes = [node('n1', [gpu(0, { uuid: 'GPU-new' }), gpu(1, { uuid: 'GPU-learned' })])];
    await read();
    const rows = await harness.rows('select device_uuid, state from gpus order by pci_address, state');
    expect(rows).toEqual([
      { device_uuid: 'GPU-new', state: 'present' },
      { device_uuid: 'GPU-old', state: 'replaced' },
      { device_uuid: 'GPU-learned', state: 'present' },
    ]);
    expect((await harness.node('n1')).status).toBe('node_ready');
  });

  it('quarantines a node whose allocated GPU was replaced', async () => {
    harness.engine('a').nodes = [node('n1', [gpu(0, { uuid: 'GPU-old' })])];
    await read();
    await rent(1);
    harness.engine('a').nodes = [node('n1', [gpu(0, { uuid: 'GPU-new' })])];
    await read();
    expect((await harness.node('n1')).status).toBe('node_quarantined');
    expect(await harness.rows('select gpus_allocated, gpus_free from node_capacity')).toEqual([
      { gpus_allocated: 1, gpus_free: 0 },
    ]);
  });
});

describe('an implausible inventory', () => {
  it('of one node is rejected, and its stored hardware stays', async () => {
    harness.engine('a').nodes = [node('n1'), node('n2')];
    await read();
    const many = Array.from({ length: 10_000 }, (_, index) => gpu(0, { pciAddress: `x:${index}` }));
    for (const gpus of [
      many,
      [gpu(0), gpu(0)],
      [gpu(0, { ramMb: -1 })],
      [gpu(0, { model: 'x'.repeat(10_000) })],
    ]) {
      harness.engine('a').nodes = [node('n1', gpus), node('n2')];
      await later(30 * SECOND_MS);
      await read();
      expect((await harness.node('n1')).gpus).toHaveLength(8);
    }
    expect(await harness.statuses()).toEqual({ n1: 'node_offline', n2: 'node_ready' });
    expect((await harness.node('n1')).statusReason).toContain('is implausible');
    harness.engine('a').nodes = [node('n1'), node('n2')];
    await read();
    expect(await harness.statuses()).toEqual({ n1: 'node_ready', n2: 'node_ready' });
  });

  it('of a new node quarantines the node', async () => {
    harness.engine('a').nodes = [node('bad', [gpu(0), gpu(0)])];
    await read();
    expect(await harness.node('bad')).toMatchObject({
      status: 'node_quarantined',
      gpus: [],
      hardwareReadAt: null,
    });
    // If an operator resumes the node before it is fixed, it registers and is checked again.
    await move('bad', 'node_ready');
    expect((await harness.node('bad')).status).toBe('node_offline');
    harness.engine('a').nodes = [node('bad')];
    await later(30 * SECOND_MS);
    await read();
    expect((await harness.node('bad')).status).toBe('node_ready');
  });

  it('as a whole counts as no response', async () => {
    harness.engine('a').nodes = [node('n1')];
    await read();
    const huge = Object.assign([], { length: 1_000_000_000 });
    const id = await harness.clusterId('a');
    for (const nodes of [huge, [node('n1'), node('n1')]]) {
      harness.engine('a').nodes = nodes;
      expect((await sync.look(id)).outcome).toBe('waiting');
    }
    expect(await harness.cluster('a')).toMatchObject({ status: 'connected', nodeCount: 1 });
    expect((await harness.cluster('a')).statusReason).toContain('twice');
  });

  it('with invalid names skips those nodes and stores the others', async () => {
    const names = ['x'.repeat(10_000), '', '../n', 'n\u0000', "n'; drop table nodes; --", '-n'];
    harness.engine('a').nodes = [...names.map((name) => node(name, [])), node('n1')];
    await sync.tick();
    expect(await sync.look(await harness.clusterId('a'))).toMatchObject({
      outcome: 'read',
      unnamed: 6,
      newNodes: 1,
    });
  });

  it('with one device in two nodes accepts the first node and quarantines the second', async () => {
    harness.engine('a').nodes = [
      node('n1', [gpu(0, { uuid: 'GPU-1' })]),
      node('n2', [gpu(0, { uuid: 'GPU-1' })]),
    ];
    await read();
    expect(await harness.statuses()).toEqual({ n1: 'node_ready', n2: 'node_quarantined' });
  });
});

describe('a missing node', () => {
  it('goes offline after two consecutive misses and returns to its previous status', async () => {
    harness.engine('a').nodes = [node('n1'), node('n2'), node('n3')];
    await read();
    const seen = harness.clock.now();
    await move('n2', 'node_draining');
    harness.engine('a').nodes = [unreachable('n1'), unreachable('n2')];
    await later(30 * SECOND_MS);
    await read();
    expect(await harness.statuses()).toEqual({ n1: 'node_ready', n2: 'node_draining', n3: 'node_ready' });
    await later(15 * SECOND_MS);
    await read();
    expect(await harness.statuses()).toEqual({ n1: 'node_offline', n2: 'node_offline', n3: 'node_offline' });
    expect(await harness.node('n1')).toMatchObject({
      lastSeenAt: seen,
      placeable: false,
      backTo: 'node_ready',
    });
    expect((await harness.node('n3')).statusReason).toContain('no longer reports the server');
    harness.engine('a').nodes = [node('n1'), node('n2'), node('n3')];
    await later(15 * SECOND_MS);
    await read();
    expect(await harness.statuses()).toEqual({ n1: 'node_ready', n2: 'node_draining', n3: 'node_ready' });
  });

  it('stays ready if it is missed once at a time', async () => {
    harness.engine('a').nodes = [node('n1')];
    for (let round = 0; round < 4; round += 1) {
      harness.engine('a').nodes = [round % 2 === 0 ? node('n1') : unreachable('n1')];
      await later(30 * SECOND_MS);
      await read();
    }
    expect((await harness.node('n1')).status).toBe('node_ready');
  });

  it('stays removed while the engine lists it, and is a new node when it is listed again later', async () => {
    harness.engine('a').nodes = [node('n1')];
    await read();
    await move('n1', 'node_draining');
    await move('n1', 'node_removed');
    await read();
    expect(await harness.statuses()).toEqual({});
    harness.engine('a').nodes = [];
    await read();
    harness.engine('a').nodes = [node('n1')];
    await read();
    expect(await harness.statuses()).toEqual({ n1: 'node_ready' });
    expect(await harness.rows('select count(*)::int as nodes from nodes')).toEqual([{ nodes: 2 }]);
  });
});

describe('transitionNode', () => {
  beforeEach(async () => {
    harness.engine('a').nodes = [node('n1')];
    await read();
  });

  it('refuses to remove a node in use, and transitions that the state table does not allow', async () => {
    await rent(1);
    await expect(move('n1', 'node_removed')).rejects.toMatchObject({ reason: 'INVALID_STATE_TRANSITION' });
    await move('n1', 'node_draining');
    await expect(move('n1', 'node_removed')).rejects.toMatchObject({ reason: 'NODE_HAS_WORK' });
  });

  it('sets the return status of an offline node', async () => {
    harness.engine('a').nodes = [];
    await read();
    await later(30 * SECOND_MS);
    await read();
    const { node: draining } = await move('n1', 'node_draining');
    expect(draining).toMatchObject({ status: 'node_offline', backTo: 'node_draining' });
    harness.engine('a').nodes = [node('n1')];
    await read();
    expect((await harness.node('n1')).status).toBe('node_draining');
  });

  it('keeps a node offline that is released from quarantine while unreachable', async () => {
    await move('n1', 'node_quarantined');
    harness.engine('a').nodes = [unreachable('n1')];
    await later(30 * SECOND_MS);
    await read();
    await move('n1', 'node_ready');
    expect(await harness.node('n1')).toMatchObject({
      status: 'node_offline',
      backTo: 'node_ready',
      placeable: false,
    });
    harness.engine('a').nodes = [node('n1')];
    await read();
    expect(await harness.node('n1')).toMatchObject({ status: 'node_ready', placeable: true });
  });

  it('is serialized with placements, so nothing new is on the node after a drain', async () => {
    const outcomes = await Promise.allSettled([
      move('n1', 'node_draining'),
      ...Array.from({ length: 6 }, (_, index) => rent(1, `01980000-0000-7000-8000-00000000000${index}`)),
    ]);
    const rented = outcomes.slice(1).filter(({ status }) => status === 'fulfilled').length;
    const drained = outcomes[0];
    if (drained?.status !== 'fulfilled') throw new Error('The drain was refused.');
    const moved = drained.value as Awaited<ReturnType<typeof move>>;
    expect(moved.node.liveAllocations).toBeLessThanOrEqual(rented);
    expect((await harness.node('n1')).liveAllocations).toBe(moved.node.liveAllocations);
  });

  it('emits events to the supplier of the machine', async () => {
    const orgId = await harness.organisation();
    await harness.rows(`update clusters set supplier_org_id = (select id from organisations limit 1)`);
    expect(orgId).toBeTruthy();
    await move('n1', 'node_quarantined');
    await move('n1', 'node_ready');
    // A supplier's daemon is one host, so the second node is not stored and emits no event.
    harness.engine('a').nodes = [node('n1'), node('n2')];
    await read();
    const events = await harness.rows<{ type: string }>(
      `select type from outbox where kind = 'event' order by id`,
    );
    expect(events.map(({ type }) => type)).toEqual(['machine.quarantined', 'machine.ready']);
  });
});

it('misses before a stop of the worker do not count after it', async () => {
  harness.engine('a').nodes = [node('n1')];
  await read();
  harness.engine('a').nodes = [unreachable('n1')];
  await read();
  await harness.clock.advance(60 * MINUTE_MS);
  await read();
  expect((await harness.node('n1')).status).toBe('node_ready');
  await later(10 * SECOND_MS);
  await read();
  expect((await harness.node('n1')).status).toBe('node_offline');
});
