import type { NodeId } from '@millrace/platform/ids';
import { createNetGuard } from '@millrace/platform/net';
import {
  insertMarketplaceProvider,
  insertSupplier,
  insertSupplierMachine,
  testIds,
  uniqueId,
  type SupplierMachineOptions,
} from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { place, serveFleet } from '../../fleet/index.ts';
import { seedOrganisation, startRoutes, type SeededOrganisation } from '../../routes.fixture.ts';
import {
  readListedMachines,
  serveSuppliers,
  serveSupplierMachines,
  serveEnrolments,
  defaultPriceRules,
} from '../index.ts';

let supplier: SeededOrganisation;

const fixture = await startRoutes((deps) => {
  serveFleet({ ...deps, knowsCredential: () => false });
  serveSuppliers({ ...deps, providerId: 'marketplace' });
  serveSupplierMachines({ ...deps, priceRules: defaultPriceRules });
  serveEnrolments({ ...deps, guard: createNetGuard({ allowedNetworks: [] }) });
});
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
await insertMarketplaceProvider(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(async () => {
  supplier = await seedOrganisation(fixture.db, { supplies: true });
});

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
interface Sent {
  readonly body?: unknown;
  readonly key?: string;
  readonly headers?: Record<string, string>;
}

const send = (method: Method, path: string, { key = supplier.owner.key, ...rest }: Sent = {}) =>
  fixture.call({ method, path: `/v2/supplier/${path}`, key, ...rest });
const rule = (method: Method, path: string, body?: unknown) =>
  fixture.call({
    method,
    path: `/v2/admin/${path}`,
    key: operator.owner.key,
    ...(body === undefined ? {} : { body }),
  });
const outcome = (response: { status: number; json: { reason?: string } }) => [
  response.status,
  response.json.reason,
];

const machine = async (fields: Partial<SupplierMachineOptions> = {}): Promise<NodeId> =>
  (await insertSupplierMachine(fixture.db, { orgId: supplier.organisation.id, ...fields })).nodeId;

async function rentOn(nodeId: NodeId): Promise<void> {
  const tenant = await seedOrganisation(fixture.db);
  await fixture.db.transaction({ name: 'rent', isolation: 'read committed' }, (tx) =>
    place(tx, {
      orgId: tenant.organisation.id,
      externalId: testIds.nextUuid(),
      holder: 'instance',
      mode: 'live',
      offer: 'marketplace',
      region: 'us-central-1',
      gpuType: 'h100',
      connectionType: 'ethernet',
      cuda: null,
      gpusPerNode: 2,
      nodeCount: 1,
      except: [],
      only: nodeId,
      ports: [],
      freesAt: null,
    }),
  );
}

describe('supplier accounts', () => {
  it('need an application and an approval; then owners and admins can create supplier keys', async () => {
    const org = await seedOrganisation(fixture.db);
    const { key } = org.owner;
    const admin = await org.addPerson('admin');
    const member = await org.addPerson('member');
    expect(outcome(await send('GET', 'account', { key }))).toEqual([404, 'SUPPLIER_NOT_FOUND']);
    const body = { name: 'Alpine GPUs', about: 'Eight hosts in a mountain.' };
    const applied = await send('POST', 'application', { key, body });
    expect([applied.status, applied.json]).toMatchObject([
      201,
      { ...body, status: 'applied', approvedAt: null },
    ]);
    expect(outcome(await send('POST', 'application', { key, body }))).toEqual([409, 'SUPPLIER_EXISTS']);

    const makeKey = (by: string, scopes: readonly string[]) =>
      fixture.call({ method: 'POST', path: '/v2/api-keys', key: by, body: { name: 'hosts', scopes } });
    const supplies = ['supplier:read', 'supplier:write'];
    expect(outcome(await makeKey(key, supplies))).toEqual([403, 'SCOPE_ESCALATION']);

    const id = applied.json.id as string;
    const approved = await rule('POST', `suppliers/${id}/approve`, { reason: 'known', feePercentage: 12.5 });
    expect(approved.json).toMatchObject({ status: 'approved', feePercentage: 12.5, statusReason: 'known' });
    // A key with fewer scopes cannot grant scopes that it lacks, and a member has no supplier scopes.
    const narrow = await makeKey(key, ['api-keys:write', 'organisation:write']);
    expect(outcome(await makeKey(narrow.json.key as string, supplies))).toEqual([403, 'SCOPE_ESCALATION']);
    expect(outcome(await makeKey(member.key, supplies))).toEqual([403, 'SCOPE_ESCALATION']);
    for (const by of [key, admin.key]) {
      const made = await makeKey(by, supplies);
      expect(made.status, made.text).toBe(201);
      expect((await send('GET', 'machines', { key: made.json.key as string })).status).toBe(200);
    }
    expect(outcome(await send('GET', 'machines', { key }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });

  it('are closed to a user whose admin role was removed, and stay open to the others', async () => {
    const admin = await supplier.addPerson('admin');
    expect((await send('GET', 'machines', { key: admin.key })).status).toBe(200);
    const path = `/v2/organisations/${supplier.organisation.id}/members/${admin.userId}`;
    const body = { role: 'member' };
    expect((await fixture.call({ method: 'PATCH', path, key: supplier.owner.key, body })).status).toBe(200);
    expect(outcome(await send('GET', 'machines', { key: admin.key }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await send('GET', 'machines')).status).toBe(200);
  });

  it('can apply again after a rejection but not after a suspension', async () => {
    const body = { name: 'Once more' };
    const applied = await send('POST', 'application', { body });
    const id = applied.json.id as string;
    const rejected = await rule('POST', `suppliers/${id}/reject`, { reason: 'who are you?' });
    expect(rejected.json).toMatchObject({ status: 'rejected', statusReason: 'who are you?' });
    const again = await send('POST', 'application', { body });
    expect([again.status, again.json.id, again.json.status, again.json.statusReason]).toEqual([
      201,
      id,
      'applied',
      null,
    ]);
    await rule('POST', `suppliers/${id}/approve`, { reason: 'now we know', feePercentage: 0 });
    const suspended = await rule('POST', `suppliers/${id}/reject`, { reason: 'fraud' });
    expect(suspended.json.status).toBe('suspended');
    expect(outcome(await send('POST', 'application', { body }))).toEqual([409, 'SUPPLIER_EXISTS']);
  });

  it('are listed for operators by status, and each review is in the audit log with its reason', async () => {
    const id = await insertSupplier(fixture.db, { orgId: supplier.organisation.id });
    await rule('POST', `suppliers/${id}/reject`, { reason: 'late with everything' });
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const at = cursor === '' ? '' : `&cursor=${cursor}`;
      const { json } = await rule('GET', `suppliers?status=suspended&limit=1${at}`);
      ids.push(...json.items.map((item: { id: string }) => item.id));
      cursor = json.nextCursor;
    }
    expect(ids.filter((each) => each === id)).toEqual([id]);
    const log = await rule('GET', `audit-log?resourceId=${id}`);
    expect(log.json.items[0]).toMatchObject({ action: 'supplier.suspended', reason: 'late with everything' });
  });

  it('accept only fees of at most four decimals', async () => {
    const id = await insertSupplier(fixture.db, { orgId: supplier.organisation.id });
    const approve = (feePercentage: number) =>
      rule('POST', `suppliers/${id}/approve`, { reason: 'a better deal', feePercentage });
    expect((await approve(0.0001)).json.feePercentage).toBe(0.0001);
    const refused = await approve(0.00001);
    expect([refused.status, refused.json.issues[0].path]).toEqual([400, ['feePercentage']]);
  });
});

describe('join tokens', () => {
  const request = { clusterName: 'alpine', region: 'us-central-1', maxMachines: 2, ttlSeconds: 60 };

  beforeEach(() => insertSupplier(fixture.db, { orgId: supplier.organisation.id }));

  it('are shown once, and not by a replay, a list or a log', async () => {
    const headers = { 'idempotency-key': uniqueId() };
    const made = await send('POST', 'join-tokens', { body: request, headers });
    expect(made.status, made.text).toBe(201);
    const { token, ...record } = made.json;
    expect(token).toMatch(/^mrj_[0-9a-f]{64}$/);
    expect(record).toMatchObject({ clusterName: 'alpine', maxMachines: 2, usedMachines: 0, revokedAt: null });
    const replay = await send('POST', 'join-tokens', { body: request, headers });
    expect(replay.json).toEqual({ ...record, token: null });
    expect((await send('GET', 'join-tokens')).json.items).toEqual([record]);
    expect(fixture.logs()).not.toContain(token);
  });

  it('are revoked once; a second revocation changes nothing', async () => {
    const { json } = await send('POST', 'join-tokens', { body: request });
    const revoke = () => send('DELETE', `join-tokens/${json.id as string}`);
    expect((await revoke()).status).toBe(204);
    const [first] = (await send('GET', 'join-tokens')).json.items;
    expect(first.revokedAt).not.toBeNull();
    expect((await revoke()).status).toBe(204);
    expect((await send('GET', 'join-tokens')).json.items).toEqual([first]);
  });

  it.each([
    ['a region that is not open', { region: 'atlantis' }, 'region'],
    ['a name that no cluster can have', { clusterName: 'Alpine!' }, 'clusterName'],
    ['a TTL that is too long', { ttlSeconds: 8 * 24 * 3600 }, 'ttlSeconds'],
  ])('are not created for %s', async (_what, fields, field) => {
    const response = await send('POST', 'join-tokens', { body: { ...request, ...fields } });
    expect([response.status, response.json.issues[0].path]).toEqual([400, [field]]);
  });

  it('are not created for a suspended supplier or beyond the limit', async () => {
    const made: Awaited<ReturnType<typeof send>>[] = [];
    // Concurrent requests, so that exactly one of those that reach the limit succeeds.
    while (made.length < 105) {
      const some = Array.from({ length: 3 }, () => send('POST', 'join-tokens', { body: request }));
      made.push(...(await Promise.all(some)));
    }
    expect(made.filter(({ status }) => status === 201)).toHaveLength(100);
    expect(new Set(made.filter(({ status }) => status !== 201).map(({ json }) => json.reason))).toEqual(
      new Set(['JOIN_TOKEN_LIMIT_REACHED']),
    );
    await insertSupplier(fixture.db, { orgId: supplier.organisation.id, status: 'suspended' });
    expect(outcome(await send('POST', 'join-tokens', { body: request }))).toEqual([
      403,
      'SUPPLIER_NOT_APPROVED',
    ]);
  });
});

describe('supplier machines', () => {
  it('are visible and changeable only for their own supplier', async () => {
    const outsider = await seedOrganisation(fixture.db, { supplies: true });
    const theirs = await insertSupplierMachine(fixture.db, { orgId: outsider.organisation.id });
    const own = [await machine(), await machine()];
    const page = await send('GET', 'machines?limit=1');
    expect(page.json.items).toHaveLength(1);
    const rest = await send('GET', `machines?cursor=${page.json.nextCursor as string}`);
    const listed = [...page.json.items, ...rest.json.items].map((item: { id: string }) => item.id);
    expect(listed.toSorted()).toEqual(own.toSorted());
    const path = `machines/${theirs.nodeId}`;
    const notFound = [404, 'MACHINE_NOT_FOUND'];
    expect(outcome(await send('GET', path))).toEqual(notFound);
    expect(outcome(await send('PATCH', path, { body: { listed: false } }))).toEqual(notFound);
    expect(outcome(await send('POST', `${path}/drain`))).toEqual(notFound);
    expect(outcome(await send('DELETE', path))).toEqual(notFound);
    expect((await send('GET', path, { key: outsider.owner.key })).json).toMatchObject({
      status: 'node_ready',
      listed: true,
    });
  });

  it('are priced within the operator’s rules, listed only with a price, and shown after approval', async () => {
    const id = await machine({ approval: 'pending', listed: false, pricePerGpuHourNanoUsd: null });
    const offer = (body: object) => send('PATCH', `machines/${id}`, { body });
    const problem = async (body: object) => {
      const response = await offer(body);
      return [response.status, response.json.issues[0].path];
    };
    expect(await problem({ listed: true })).toEqual([400, ['pricePerGpuHourNanoUsd']]);
    expect(await problem({ pricePerGpuHourNanoUsd: '9999999' })).toEqual([400, ['pricePerGpuHourNanoUsd']]);
    expect(await problem({ pricePerGpuHourNanoUsd: '1000000000001' })).toEqual([
      400,
      ['pricePerGpuHourNanoUsd'],
    ]);
    const listed = await offer({ listed: true, pricePerGpuHourNanoUsd: '1234567890' });
    expect(listed.json).toMatchObject({
      listed: true,
      pricePerGpuHourNanoUsd: '1234567890',
      shown: false,
      notShownBecause: 'The operator has not approved the machine yet.',
      gpusRented: 0,
    });
    const own = await send('GET', 'machines?limit=100');
    const mine = own.json.items.find((item: { id: string }) => item.id === id);
    for (const { gpus } of [listed.json, mine, (await send('GET', `machines/${id}`)).json]) {
      expect(gpus).toHaveLength(8);
      for (const gpu of gpus) expect(gpu.verification).toBe('unverified');
    }
    const waiting = await rule('GET', 'machines?approval=pending&limit=200');
    expect(waiting.json.items.map((item: { id: string }) => item.id)).toContain(id);
    const bySupplier = await rule('GET', `machines?supplierId=${listed.json.supplierId as string}`);
    expect(bySupplier.json.items.map((item: { id: string }) => item.id)).toEqual([id]);
    expect((await rule('GET', `machines?supplierId=${testIds.next('sup')}`)).json.items).toEqual([]);
    const approved = await rule('POST', `machines/${id}/approve`, { reason: 'looks well' });
    expect(approved.json).toMatchObject({ approval: 'approved', shown: true, notShownBecause: null });
    const refused = await rule('POST', `machines/${id}/reject`, { reason: 'its disk lies' });
    expect(refused.json).toMatchObject({ shown: false, approvalReason: 'its disk lies' });
    expect((await offer({ listed: false })).json).toMatchObject({ listed: false, approval: 'rejected' });
  });

  it('cannot be approved before they have passed their tests', async () => {
    const id = await machine({ stage: 'testing', approval: 'pending', listed: false });
    const response = await rule('POST', `machines/${id}/approve`, { reason: 'in a hurry' });
    expect(outcome(response)).toEqual([409, 'INVALID_STATE_TRANSITION']);
    expect((await rule('POST', `machines/${id}/reject`, { reason: 'not here' })).json.approval).toBe(
      'rejected',
    );
  });

  it('of a suspended supplier can be unlisted, drained and withdrawn, but not listed or priced', async () => {
    const id = await machine();
    await insertSupplier(fixture.db, { orgId: supplier.organisation.id, status: 'suspended' });
    const offer = (body: object) => send('PATCH', `machines/${id}`, { body });
    expect((await send('GET', `machines/${id}`)).json).toMatchObject({ shown: false, listed: true });
    expect(outcome(await offer({ listed: true }))).toEqual([403, 'SUPPLIER_NOT_APPROVED']);
    expect(outcome(await offer({ pricePerGpuHourNanoUsd: '1000000000' }))).toEqual([
      403,
      'SUPPLIER_NOT_APPROVED',
    ]);
    expect((await offer({ listed: false })).json.listed).toBe(false);
    expect((await send('POST', `machines/${id}/drain`)).json.status).toBe('node_draining');
    expect((await send('DELETE', `machines/${id}`)).status).toBe(204);
  });
});

describe('draining a machine', () => {
  const drain = (id: NodeId) => send('POST', `machines/${id}/drain`);
  const resume = (id: NodeId) => send('POST', `machines/${id}/resume`);

  it('prevents new rentals until its supplier resumes it', async () => {
    const id = await machine();
    const drained = await drain(id);
    expect(drained.json).toMatchObject({
      status: 'node_draining',
      statusReason: 'Drained by the supplier.',
    });
    expect(drained.json.drainedAt).not.toBeNull();
    expect((await drain(id)).json).toEqual(drained.json);
    await expect(rentOn(id)).rejects.toMatchObject({ name: 'Fault' });
    expect((await resume(id)).json).toMatchObject({ status: 'node_ready', drainedAt: null });
    expect((await resume(id)).json.status).toBe('node_ready');
    await rentOn(id);
    expect((await send('GET', `machines/${id}`)).json.gpusRented).toBe(2);
  });

  it('by an operator cannot be undone by its supplier', async () => {
    const id = await machine();
    await rule('POST', `nodes/${id}/drain`, { reason: 'complaints' });
    const refused = [409, 'INVALID_STATE_TRANSITION'];
    expect(outcome(await resume(id))).toEqual(refused);
    await rule('POST', `nodes/${id}/resume`, { reason: 'looked at' });
    await drain(id);
    await rule('POST', `nodes/${id}/quarantine`, { reason: 'more complaints' });
    const response = await resume(id);
    expect(outcome(response)).toEqual(refused);
    expect(response.json.message).toContain('more complaints');
    expect((await send('GET', `machines/${id}`)).json.status).toBe('node_quarantined');
  });
});

describe('withdrawing a machine', () => {
  it('is refused while it has rentals, and is idempotent', async () => {
    const id = await machine();
    await rentOn(id);
    const refused = await send('DELETE', `machines/${id}`);
    expect(outcome(refused)).toEqual([409, 'NODE_HAS_WORK']);
    expect((await send('GET', `machines/${id}`)).json).toMatchObject({ status: 'node_ready', listed: true });
    const empty = await machine();
    expect((await send('DELETE', `machines/${empty}`)).status).toBe(204);
    expect((await send('DELETE', `machines/${empty}`)).status).toBe(204);
    expect((await send('GET', `machines/${empty}`)).json).toMatchObject({
      status: 'node_removed',
      listed: false,
      notShownBecause: 'The machine was withdrawn.',
    });
    const left = (await send('GET', 'machines')).json.items.map((item: { id: string }) => item.id);
    expect(left).toEqual([id]);
    expect(outcome(await send('PATCH', `machines/${empty}`, { body: { listed: true } }))).toEqual([
      404,
      'MACHINE_NOT_FOUND',
    ]);
  });

  it('concurrently with a rental lets exactly one of them succeed', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = await machine();
      const [withdrawn, rented] = await Promise.all([
        send('DELETE', `machines/${id}`).then(({ status }) => status === 204),
        rentOn(id).then(
          () => true,
          () => false,
        ),
      ]);
      expect([withdrawn, rented].filter(Boolean)).toHaveLength(1);
    }
  });

  it('is refused while the machine is under test', async () => {
    const id = await machine({ stage: 'testing', approval: 'pending', listed: false });
    expect(outcome(await send('DELETE', `machines/${id}`))).toEqual([409, 'INVALID_STATE_TRANSITION']);
  });
});

describe('concurrent actions on one machine', () => {
  it('all respond and leave its record and the marketplace consistent', async () => {
    const id = await machine();
    const supplierId = await insertSupplier(fixture.db, { orgId: supplier.organisation.id });
    const actions = [
      () => send('PATCH', `machines/${id}`, { body: { listed: true, pricePerGpuHourNanoUsd: '2000000000' } }),
      () => send('PATCH', `machines/${id}`, { body: { listed: false } }),
      () => send('POST', `machines/${id}/drain`),
      () => send('POST', `machines/${id}/resume`),
      () => rule('POST', `machines/${id}/approve`, { reason: 'looks well' }),
      () => rule('POST', `machines/${id}/reject`, { reason: 'looks odd' }),
      () => rule('POST', `suppliers/${supplierId}/approve`, { reason: 'cleared', feePercentage: 5 }),
      () => rule('POST', `suppliers/${supplierId}/reject`, { reason: 'complaints' }),
    ];
    for (let round = 0; round < 4; round += 1) {
      const responses = await Promise.all(actions.map((action) => action()));
      expect(responses.filter(({ status }) => status >= 500)).toEqual([]);
      const { json } = await send('GET', `machines/${id}`);
      const listed = await readListedMachines(fixture.db, [id]);
      expect(listed.has(id)).toBe(json.shown);
      expect(json.status === 'node_draining').toBe(json.drainedAt !== null);
    }
  });
});
