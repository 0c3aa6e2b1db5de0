import type { NodeId, OrgId } from '@millrace/platform/ids';
import { insertFleet, testIds, uniqueId } from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { seedOrganisation, startRoutes } from '../../routes.fixture.ts';
import { place, serveFleet } from '../index.ts';

let region: string;
let clusterId: string;
let nodeIds: readonly NodeId[];

const DAY_MS = 86_400_000;
const provider = 'provider-v1';

const fixture = await startRoutes((deps) => serveFleet({ ...deps, knowsCredential: () => false }));
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
const tenant = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(async () => {
  region = `r-${uniqueId()}`;
  ({ clusterId, nodeIds } = await insertFleet(fixture.db, { nodes: 2, region }));
});

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
const call = (method: Method, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  fixture.call({
    method,
    path: `/v2/admin/${path}`,
    key: operator.owner.key,
    headers,
    ...(body === undefined ? {} : { body }),
  });
const nodeAt = (index: number): NodeId => {
  const id = nodeIds[index];
  if (id === undefined) throw new Error('no such node');
  return id;
};
const post = (id: string, what: string, body: object = { reason: 'because' }) =>
  call('POST', `nodes/${id}/${what}`, body);
const later = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
const newWindow = (fields: object = {}) => ({
  nodeIds,
  startsAt: later(2),
  endsAt: later(3),
  summary: 'new firmware',
  ...fields,
});
const newCluster = (fields: object = {}) => ({
  name: `c${uniqueId()}`,
  providerId: provider,
  region,
  driver: 'mock',
  endpoint: 'mock:',
  ...fields,
});

async function rent(only: NodeId): Promise<string> {
  const placement = await fixture.db.transaction({ name: 'rent', isolation: 'read committed' }, (tx) =>
    place(tx, {
      orgId: tenant.organisation.id as OrgId,
      externalId: testIds.nextUuid(),
      holder: 'rental',
      mode: 'live',
      offer: 'virtual-machine',
      region,
      gpuType: 'h100',
      connectionType: 'ethernet',
      cuda: null,
      gpusPerNode: 2,
      nodeCount: 1,
      except: [],
      only,
      ports: [],
      freesAt: null,
    }),
  );
  return placement.externalId;
}

async function auditOf(resourceId: string) {
  const { json } = await call('GET', `audit-log?resourceId=${resourceId}`);
  return (json.items as { action: string; reason: string | null; actor: { id: string } }[]).map(
    ({ action, reason, actor }) => [action, reason, actor.id],
  );
}

describe('providers', () => {
  it('are listed page by page', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { json } = await call('GET', `providers?limit=1${cursor === null ? '' : `&cursor=${cursor}`}`);
      seen.push(...json.items.map((each: { id: string }) => each.id));
      cursor = json.nextCursor;
    } while (cursor !== null);
    expect(seen).toContain(provider);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('stop and resume selling by region at once, and keep the reason', async () => {
    const switchTo = (enabled: boolean) =>
      call('PATCH', `providers/${provider}`, { regions: [{ region, enabled }], reason: 'power work' });
    const off = await switchTo(false);
    expect(off.json.regions).toContainEqual({ region, enabled: false, configured: true, customPorts: true });
    await expect(rent(nodeAt(0))).rejects.toMatchObject({ name: 'Fault' });
    expect((await switchTo(true)).status).toBe(200);
    await rent(nodeAt(0));
    expect((await auditOf(provider)).at(0)).toEqual([
      'provider.switched',
      'power work',
      operator.owner.userId,
    ]);
  });

  it('reject an unknown region and change nothing', async () => {
    const regions = [
      { region, enabled: false },
      { region: 'atlantis', enabled: false },
    ];
    const response = await call('PATCH', `providers/${provider}`, { regions, reason: 'power work' });
    expect([response.status, response.json.issues[0].path]).toEqual([400, ['regions', 1, 'region']]);
    await rent(nodeAt(0));
  });
});

describe('clusters', () => {
  it('are registered once per idempotency key, and their name is free again after removal', async () => {
    const body = newCluster({
      offer: 'bare-metal',
      connectionType: 'infiniband',
      settings: { pool: 'fast' },
    });
    const headers = { 'idempotency-key': uniqueId() };
    const made = await call('POST', 'clusters', body, headers);
    expect(made.status, made.text).toBe(201);
    expect(made.json).toMatchObject({ ...body, status: 'connecting', origin: 'operator', nodeCount: 0 });
    const again = await call('POST', 'clusters', body, headers);
    expect([again.status, again.json.id]).toEqual([201, made.json.id]);
    const duplicate = await call('POST', 'clusters', body);
    expect([duplicate.status, duplicate.json.reason]).toEqual([409, 'CLUSTER_EXISTS']);
    expect((await call('DELETE', `clusters/${made.json.id}?reason=wrong+name`)).status).toBe(204);
    expect((await call('DELETE', `clusters/${made.json.id}`)).status).toBe(204);
    expect((await call('POST', 'clusters', body)).status).toBe(201);
    expect((await auditOf(made.json.id)).map(([action]) => action)).toEqual([
      'cluster.removed',
      'cluster.registered',
    ]);
  });

  it.each<[string, object, number, string]>([
    ['an unknown provider', { providerId: 'nobody' }, 404, 'PROVIDER_NOT_FOUND'],
    ['a region of another provider', { region: 'atlantis' }, 400, 'VALIDATION_FAILED'],
    [
      'another driver than its provider has',
      { driver: 'incus', endpoint: 'https://a:1' },
      400,
      'VALIDATION_FAILED',
    ],
    ['an endpoint that its driver cannot use', { endpoint: 'https://10.0.0.1' }, 400, 'VALIDATION_FAILED'],
    ['an unknown credential', { credentialRef: 'missing' }, 400, 'CREDENTIAL_UNKNOWN'],
    ['an invalid name', { name: '-a' }, 400, 'VALIDATION_FAILED'],
    ['a setting that cannot be stored', { settings: { pool: 'a\u0000b' } }, 400, 'VALIDATION_FAILED'],
    [
      'the name of a setting that cannot be stored',
      { settings: { 'a\u0000b': 1 } },
      400,
      'VALIDATION_FAILED',
    ],
    [
      'a nested setting that cannot be stored',
      { settings: { a: [{ b: '\ud800' }] } },
      400,
      'VALIDATION_FAILED',
    ],
  ])('are refused with %s', async (_, fields, status, reason) => {
    const response = await call('POST', 'clusters', newCluster(fields));
    expect([response.status, response.json.reason]).toEqual([status, reason]);
  });

  it('cannot be removed while they have allocations; afterwards their nodes are removed with them', async () => {
    await rent(nodeAt(1));
    const refused = await call('DELETE', `clusters/${clusterId}`);
    expect([refused.status, refused.json.reason]).toEqual([409, 'CLUSTER_HAS_WORK']);
    expect((await call('GET', `nodes/${nodeAt(0)}`)).json.status).toBe('node_ready');

    const empty = await insertFleet(fixture.db, { nodes: 3, region });
    expect((await call('DELETE', `clusters/${empty.clusterId}`)).status).toBe(204);
    const removed = await call('GET', `nodes?clusterId=${empty.clusterId}&status=node_removed`);
    expect(removed.json.items).toHaveLength(3);
    expect((await call('GET', `nodes?clusterId=${empty.clusterId}`)).json.items).toEqual([]);
    const listed = await call('GET', `clusters?status=removed&providerId=${provider}`);
    expect(listed.json.items.map((each: { id: string }) => each.id)).toContain(empty.clusterId);
  });

  it('cannot be removed while the configuration names them', async () => {
    await fixture.database.query(`update clusters set origin = 'configuration' where name = $1`, [
      (await call('GET', `nodes/${nodeAt(0)}`)).json.clusterName,
    ]);
    const refused = await call('DELETE', `clusters/${clusterId}`);
    expect([refused.status, refused.json.reason]).toEqual([409, 'CLUSTER_CONFIGURED']);
  });
});

describe('nodes', () => {
  it('are shown with their GPUs and allocations', async () => {
    const externalId = await rent(nodeAt(0));
    const { json } = await call('GET', `nodes/${nodeAt(0)}`);
    expect(json).toMatchObject({ region, providerId: provider, liveRentalCount: 1, ramGb: 2048 });
    const holders = json.gpus.map((gpu: { allocatedTo: string | null }) => gpu.allocatedTo);
    expect(holders.filter((holder: string | null) => holder === externalId)).toHaveLength(2);
    expect(holders.filter((holder: string | null) => holder === null)).toHaveLength(6);
    const list = await call('GET', `nodes?clusterId=${clusterId}&limit=1`);
    const rest = await call('GET', `nodes?clusterId=${clusterId}&limit=1&cursor=${list.json.nextCursor}`);
    const seen = [...list.json.items, ...rest.json.items].map((node: { id: string }) => node.id);
    expect(seen).toEqual(nodeIds.toSorted());
    expect(rest.json.nextCursor).toBeNull();
    // Nothing verifies GPUs yet, so no response may show them as verified.
    const shown = [json, ...list.json.items, ...rest.json.items].flatMap(({ gpus }) => gpus);
    expect(shown).toHaveLength(8 * (1 + nodeIds.length));
    for (const gpu of shown) expect(gpu.verification).toBe('unverified');
  });

  it('are drained, accept nothing new, keep their rentals, and are removed when empty', async () => {
    const id = nodeAt(0);
    await rent(id);
    const deadlineAt = later(1);
    const drained = await post(id, 'drain', { reason: 'old fans', deadlineAt });
    expect(drained.json).toMatchObject({
      status: 'node_draining',
      statusReason: 'old fans',
      drainDeadlineAt: deadlineAt,
      liveRentalCount: 1,
    });
    await expect(rent(id)).rejects.toMatchObject({ name: 'Fault' });
    const busy = await call('DELETE', `nodes/${id}`);
    expect([busy.status, busy.json.reason]).toEqual([409, 'NODE_HAS_WORK']);

    const idle = nodeAt(1);
    const early = await call('DELETE', `nodes/${idle}`);
    expect([early.status, early.json.reason]).toEqual([409, 'INVALID_STATE_TRANSITION']);
    await post(idle, 'drain', { reason: 'old fans' });
    expect((await call('DELETE', `nodes/${idle}?reason=sold`)).status).toBe(204);
    expect((await call('DELETE', `nodes/${idle}`)).status).toBe(204);
    const late = await post(idle, 'resume');
    expect([late.status, late.json.reason]).toEqual([404, 'NODE_NOT_FOUND']);
    expect((await auditOf(idle)).map(([action, reason]) => [action, reason])).toContainEqual([
      'node.removed',
      'sold',
    ]);
  });

  it('change once per idempotency key, and accept a new drain deadline', async () => {
    const id = nodeAt(0);
    const headers = { 'idempotency-key': uniqueId() };
    const body = { reason: 'old fans' };
    await call('POST', `nodes/${id}/drain`, body, headers);
    await post(id, 'resume');
    const replayed = await call('POST', `nodes/${id}/drain`, body, headers);
    expect(replayed.json.status).toBe('node_draining');
    expect((await call('GET', `nodes/${id}`)).json.status).toBe('node_ready');
    await post(id, 'drain', body);
    const deadlineAt = later(3);
    const again = await post(id, 'drain', { ...body, deadlineAt });
    expect(again.json).toMatchObject({ status: 'node_draining', drainDeadlineAt: deadlineAt });
    const past = await post(id, 'drain', { ...body, deadlineAt: later(-1) });
    expect([past.status, past.json.issues[0].path]).toEqual([400, ['deadlineAt']]);
  });

  it('record each operator action once with its reason, and no refused one', async () => {
    const id = nodeAt(0);
    const headers = { 'idempotency-key': uniqueId() };
    const drain = (reason: string, more: Record<string, string> = {}) =>
      call('POST', `nodes/${id}/drain`, { reason }, more);
    const responses = [
      await drain('old fans', headers),
      await drain('old fans', headers),
      await drain('also a bad cable'),
      await post(id, 'resume', { reason: 'mended' }),
      await call('DELETE', `nodes/${id}?reason=too+early`),
      await post(id, 'drain', { reason: 'no' }),
      await post(id, 'quarantine', { reason: 'smells' }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 409, 400, 200]);
    const by = operator.owner.userId;
    expect(await auditOf(id)).toEqual([
      ['node.quarantined', 'smells', by],
      ['node.resumed', 'mended', by],
      ['node.drained', 'also a bad cable', by],
      ['node.drained', 'old fans', by],
    ]);
  });

  it('list their transitions, newest first', async () => {
    const id = nodeAt(0);
    await post(id, 'quarantine', { reason: 'smells' });
    await post(id, 'resume', { reason: 'cleaned' });
    const first = await call('GET', `nodes/${id}/transitions?limit=2`);
    expect(first.json.items).toMatchObject([
      { seq: 3, from: 'node_quarantined', to: 'node_ready', reason: 'cleaned' },
      { seq: 2, from: 'node_ready', to: 'node_quarantined', actor: `operator:${operator.owner.userId}` },
    ]);
    const rest = await call('GET', `nodes/${id}/transitions?limit=2&cursor=${first.json.nextCursor}`);
    expect(rest.json).toMatchObject({ items: [{ seq: 1, from: null }], nextCursor: null });
  });

  it('lose and regain a single GPU, which stays missing until the engine reports it', async () => {
    const id = nodeAt(0);
    const [gpu] = (await call('GET', `nodes/${id}`)).json.gpus;
    const mark = (faulty: boolean) =>
      call('PATCH', `nodes/${id}/gpus/${gpu.id}`, { faulty, reason: 'row remapping failed' });
    const stateOf = (response: Awaited<ReturnType<typeof mark>>) =>
      response.json.gpus.find((each: { id: string }) => each.id === gpu.id).state;
    expect(stateOf(await mark(true))).toBe('faulty');
    expect(stateOf(await mark(true))).toBe('faulty');
    expect(stateOf(await mark(false))).toBe('missing');
    expect(stateOf(await mark(false))).toBe('missing');
    expect((await auditOf(gpu.id)).map(([action]) => action)).toEqual(['gpu.put_back', 'gpu.taken_out']);
    const wrongNode = await call('PATCH', `nodes/${nodeAt(1)}/gpus/${gpu.id}`, {
      faulty: true,
      reason: 'odd',
    });
    expect([wrongNode.status, wrongNode.json.reason]).toEqual([404, 'GPU_NOT_FOUND']);
  });
});

describe('maintenance', () => {
  it('is announced, listed and cancelled, with the requested drain lead time', async () => {
    await rent(nodeAt(0));
    const body = newWindow();
    const made = await call('POST', 'maintenance-windows', { ...body, drainBeforeSeconds: 3_600 });
    expect(made.status, made.text).toBe(201);
    const expected = { ...body, nodeIds: nodeIds.toSorted(), status: 'announced', affectedRentalCount: 1 };
    expect(made.json).toMatchObject(expected);
    expect(Date.parse(made.json.startsAt) - Date.parse(made.json.drainsAt)).toBe(3_600_000);
    const listed = await call('GET', `maintenance-windows?nodeId=${nodeAt(0)}&status=announced`);
    expect(listed.json.items).toEqual([made.json]);
    const cancelled = await call('POST', `maintenance-windows/${made.json.id}/cancel`);
    expect([cancelled.status, cancelled.json.status]).toEqual([200, 'cancelled']);
    expect((await auditOf(made.json.id)).map(([action]) => action)).toEqual([
      'maintenance.cancelled',
      'maintenance.announced',
    ]);
  });

  it('drains a day ahead by default', async () => {
    const { json } = await call('POST', 'maintenance-windows', newWindow());
    expect(Date.parse(json.startsAt) - Date.parse(json.drainsAt)).toBe(DAY_MS);
  });

  it.each<[string, object, number]>([
    ['no nodes', { nodeIds: [] }, 400],
    ['an invalid node id', { nodeIds: ['nod_1'] }, 400],
    ['an end before its start', { endsAt: later(1) }, 400],
    ['a start in the past', { startsAt: later(-1) }, 400],
    ['a time too far ahead', { startsAt: '9999-12-31T23:59:59Z', endsAt: '9999-12-31T23:59:59.5Z' }, 400],
    ['a drain that is too long', { drainBeforeSeconds: 1e9 }, 400],
    ['a summary that cannot be stored', { summary: 'a\u0000b' }, 400],
    ['an unknown node', { nodeIds: [testIds.next('nod')] }, 404],
  ])('is refused with %s', async (_, fields, status) => {
    const response = await call('POST', 'maintenance-windows', newWindow(fields));
    expect([response.status, response.text]).toEqual([status, response.text]);
  });
});

describe('a caller who is not an operator', () => {
  it.each<[Method, string]>([
    ['GET', 'providers'],
    ['PATCH', `providers/${provider}`],
    ['GET', 'clusters'],
    ['POST', 'clusters'],
    ['DELETE', `clusters/${testIds.next('cls')}`],
    ['GET', 'nodes'],
    ['GET', `nodes/${testIds.next('nod')}`],
    ['GET', `nodes/${testIds.next('nod')}/transitions`],
    ['POST', `nodes/${testIds.next('nod')}/drain`],
    ['POST', `nodes/${testIds.next('nod')}/resume`],
    ['POST', `nodes/${testIds.next('nod')}/quarantine`],
    ['DELETE', `nodes/${testIds.next('nod')}`],
    ['PATCH', `nodes/${testIds.next('nod')}/gpus/${testIds.next('gpu')}`],
    ['GET', 'maintenance-windows'],
    ['POST', 'maintenance-windows'],
    ['POST', `maintenance-windows/${testIds.next('mnt')}/cancel`],
  ])('is refused: %s %s', async (method, path) => {
    const response = await fixture.call({
      method,
      path: `/v2/admin/${path}`,
      key: tenant.owner.key,
      ...(method === 'GET' || method === 'DELETE' ? {} : { body: {} }),
    });
    expect([response.status, response.json.reason]).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });
});
