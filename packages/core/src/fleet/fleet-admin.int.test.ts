import type { Tx } from '@millrace/platform/db';
import { toUuid, type NodeId } from '@millrace/platform/ids';
import { createOrganisation, createTestDatabase, insertFleet, uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { systemAuditContext } from '../identity/index.ts';
import { findCluster } from './inventory/clusters.store.ts';
import { applyNodeAction, setGpuFaulty, removeCluster, updateProvider } from './admin/fleet-admin.service.ts';
import { transitionNode } from './inventory/nodes.service.ts';
import { findNode } from './inventory/nodes.store.ts';
import { place } from './placement/placement.service.ts';
import { placementRequestFor } from './placement-request.fixture.ts';

const cause = systemAuditContext('test', 'live');
const actor = { kind: 'system', id: 'test' } as const;

const database = await createTestDatabase({ poolSize: 20 });
const orgId = await createOrganisation(database.db);
afterAll(() => database.drop());

const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
  database.db.transaction({ name: 'test', isolation: 'read committed' }, work);

const rent = (region: string, only: NodeId | null = null) =>
  run((tx) => place(tx, placementRequestFor(orgId, region, { only })));

async function insertOne() {
  const region = `r-${uniqueId()}`;
  const { clusterId, nodeIds } = await insertFleet(database.db, { nodes: 1, region });
  const [nodeId] = nodeIds;
  if (nodeId === undefined) throw new Error('no node was inserted');
  return { region, clusterId, nodeId };
}

describe('with concurrent rentals', () => {
  it('a cluster is removed only if nothing of it is allocated, in any order', async () => {
    for (let round = 0; round < 8; round += 1) {
      const { region, clusterId } = await insertOne();
      const attempts = await Promise.allSettled([
        rent(region),
        run((tx) => removeCluster(tx, cause, clusterId, undefined)),
        rent(region),
      ]);
      const sold = attempts.filter((each, index) => index !== 1 && each.status === 'fulfilled').length;
      const removed = attempts[1]?.status === 'fulfilled';
      expect([removed, (await findCluster(database.db, clusterId))?.status]).toEqual(
        sold === 0 ? [true, 'removed'] : [false, 'connected'],
      );
    }
  });

  it('a disabled region sells nothing from the time of the response', async () => {
    const { region } = await insertOne();
    const change = { regions: [{ region, enabled: false }], reason: 'power work' };
    const [, ...early] = await Promise.allSettled([
      run((tx) => updateProvider(tx, cause, 'provider-v1', change)),
      rent(region),
      rent(region),
    ]);
    await expect(rent(region)).rejects.toMatchObject({ name: 'Fault' });
    const { count } = await database.db.kysely
      .selectFrom('allocations')
      .select((select) => select.fn.countAll<bigint>().as('count'))
      .where('region', '=', region)
      .executeTakeFirstOrThrow();
    expect(Number(count)).toBe(early.filter((each) => each.status === 'fulfilled').length);
  });

  it('a faulty GPU is not sold again and stays with its tenant', async () => {
    const { region, nodeId } = await insertOne();
    const { nodes } = await rent(region, nodeId);
    const held = nodes[0]?.gpus[0]?.gpuId;
    if (held === undefined) throw new Error('nothing was placed');
    const marked = await run((tx) =>
      setGpuFaulty(tx, cause, nodeId, held, { faulty: true, reason: 'bad rows' }),
    );
    expect(marked.gpus.find((gpu) => gpu.id === held)).toMatchObject({
      state: 'faulty',
      stateReason: 'bad rows',
    });
    expect(marked.gpus.find((gpu) => gpu.id === held)?.allocatedTo).not.toBeNull();
    const rest = await Promise.allSettled(Array.from({ length: 8 }, () => rent(region, nodeId)));
    expect(rest.filter((each) => each.status === 'fulfilled')).toHaveLength(7);
  });
});

describe('applyNodeAction', () => {
  it('is executed once for concurrent requests, and all get a response', async () => {
    const { nodeId } = await insertOne();
    const drain = () => run((tx) => applyNodeAction(tx, cause, nodeId, 'drain', { reason: 'old fans' }));
    const responses = await Promise.all([drain(), drain(), drain()]);
    expect(new Set(responses.map((node) => node.status))).toEqual(new Set(['node_draining']));
    const moves = await database.db.kysely
      .selectFrom('node_transitions')
      .select('seq')
      .where('node_id', '=', toUuid(nodeId))
      .execute();
    expect(moves).toHaveLength(2);
  });

  it('changes nothing when its transaction fails', async () => {
    const { nodeId } = await insertOne();
    const dying = run(async (tx) => {
      await applyNodeAction(tx, cause, nodeId, 'quarantine', { reason: 'smells' });
      throw new Error('died');
    });
    await expect(dying).rejects.toThrow('died');
    expect((await findNode(database.db, nodeId))?.status).toBe('node_ready');
  });

  it('sets the return status of an offline node', async () => {
    const { nodeId } = await insertOne();
    await run((tx) => transitionNode(tx, nodeId, 'node_offline', { reason: 'silent', actor }));
    const deadlineAt = new Date(Date.now() + 3_600_000);
    const drained = await run((tx) =>
      applyNodeAction(tx, cause, nodeId, 'drain', { reason: 'old fans', deadlineAt }),
    );
    expect(drained).toMatchObject({
      status: 'node_offline',
      backTo: 'node_draining',
      drainDeadlineAt: deadlineAt,
    });
    const resumed = await run((tx) => applyNodeAction(tx, cause, nodeId, 'resume', { reason: 'kept' }));
    expect(resumed).toMatchObject({ backTo: 'node_ready', drainDeadlineAt: null });
    await run((tx) => applyNodeAction(tx, cause, nodeId, 'remove', { reason: 'stolen' }));
    expect((await findNode(database.db, nodeId))?.status).toBe('node_removed');
  });

  it('refuses an action that the state does not allow, and says the state and the first step', async () => {
    const { nodeId } = await insertOne();
    const early = run((tx) => applyNodeAction(tx, cause, nodeId, 'remove', { reason: 'old' }));
    await expect(early).rejects.toMatchObject({
      reason: 'INVALID_STATE_TRANSITION',
      message: 'The node is node_ready and cannot be removed in that state.',
      suggestion: 'Drain or quarantine the node first.',
    });
    await database.query(`update nodes set status = 'node_registering' where id = $1`, [toUuid(nodeId)]);
    const unread = run((tx) => applyNodeAction(tx, cause, nodeId, 'resume', { reason: 'hurry' }));
    await expect(unread).rejects.toMatchObject({ reason: 'INVALID_STATE_TRANSITION' });
  });
});
