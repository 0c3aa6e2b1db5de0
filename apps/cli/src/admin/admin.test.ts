import { describe, expect, it } from 'vitest';
import { fakeApi, runCli } from '../fixture.ts';

const gpu = {
  id: 'gpu_1',
  model: 'H100',
  gpuType: 'h100',
  ramMb: 81_559,
  pciAddress: '0000:01:00.0',
  numaNode: 0,
};
const gpus = [
  { ...gpu, allocatedTo: 'alc_1', deviceUuid: null, state: 'present', stateReason: null },
  { ...gpu, allocatedTo: null, deviceUuid: null, state: 'present', stateReason: null },
  { ...gpu, allocatedTo: null, deviceUuid: null, state: 'faulty', stateReason: 'ECC' },
];
const node = {
  ...{
    id: 'nod_1',
    name: 'gpu-17',
    clusterId: 'cls_1',
    clusterName: 'c1',
    providerId: 'V1',
    region: 'eu-west-1',
  },
  ...{ supplierId: null, status: 'node_ready', statusReason: null, statusSince: '2026-03-01T11:00:00.000Z' },
  ...{ drainDeadlineAt: null, address: null, hardwareReadAt: null, cpuModel: 'x', cpuCount: 64, ramGb: 512 },
  ...{ storageGb: 1000, driverVersion: null, cudaVersion: null, gpus, liveRentalCount: 1, lastSeenAt: null },
};
const away = { ...node, id: 'nod_2', name: 'gpu-18', status: 'node_offline' };
const organisation = {
  ...{ id: 'org_1', name: 'Acme', slug: 'acme', status: 'active', createdAt: '2026-01-01T00:00:00.000Z' },
  ...{ updatedAt: '2026-01-01T00:00:00.000Z', homeCell: 1, suspendedAt: null, suspendedReason: null },
  balanceNanoUsd: '12500000000',
};
const page = (...items: readonly unknown[]): object => ({ items, nextCursor: null });

describe('fleet commands', () => {
  it('count only rentable GPUs as available', async () => {
    const api = fakeApi({ 'GET /v2/admin/nodes': page(node, away) });
    expect((await runCli(['admin', 'fleet', '--json'], api)).json()).toEqual([
      {
        region: 'eu-west-1',
        gpuType: 'h100',
        nodes: 2,
        ready: 1,
        away: 1,
        gpus: 4,
        rented: 2,
        free: 1,
        bad: 2,
      },
    ]);
  });

  it('list the status and use of each node', async () => {
    const api = fakeApi({ 'GET /v2/admin/nodes': page(node) });
    const run = await runCli(
      ['admin', 'node', 'list', '--status', 'ready', '--columns', 'name,state,used,since'],
      api,
    );
    expect(run.stdout).toBe('NAME    STATE         USED  SINCE\ngpu-17  ready  1/2 (1 bad)  1 h ago\n');
    expect(api.requests[0]?.query['status']).toBe('node_ready');
    expect((await runCli(['admin', 'node', 'list', '--json'], api)).json()).toEqual([node]);
  });

  it('drain a node by its name, with a reason and a deadline', async () => {
    const api = fakeApi({
      'GET /v2/admin/nodes': page(node, away),
      'POST /v2/admin/nodes/nod_1/drain': { ...node, status: 'node_draining' },
    });
    const args = ['admin', 'node', 'drain', 'gpu-17', '--reason', 'fans', '--deadline', '2h'];
    expect((await runCli(args, api)).stdout).toContain('Draining gpu-17 (nod_1)');
    expect(api.requests.at(-1)?.body).toEqual({ reason: 'fans', deadlineAt: '2026-03-01T14:00:00.000Z' });
    const missing = await runCli(['admin', 'node', 'drain', 'gpu-99', '--reason', 'x'], api);
    expect(missing.code).toBe(5);
    expect((await runCli(['admin', 'node', 'drain', 'gpu-17'], api)).code).toBe(3);
  });

  it('refuse a name that two nodes have', async () => {
    const api = fakeApi({ 'GET /v2/admin/nodes': page(node, { ...away, name: 'gpu-17' }) });
    const run = await runCli(['admin', 'node', 'quarantine', 'gpu-17', '--reason', 'x'], api);
    expect(run.code).toBe(3);
    expect(run.stderr).toContain('nod_1 (c1), nod_2 (c1)');
    expect(api.requests).toHaveLength(1);
  });
});

describe('organisation commands', () => {
  const granted = {
    ...{ id: 'trf_1', occurredAt: '2026-03-01T12:00:00.000Z', kind: 'grant', amountNanoUsd: '25500000000' },
    ...{ balanceAfterNanoUsd: '30000000000', cause: { kind: 'operator', id: 'usr_1' }, description: 'grant' },
    ...{ reverses: null, organisationId: 'org_1', reason: 'welcome' },
  };
  const routes = {
    'GET /v2/admin/organisations': page(organisation),
    'POST /v2/admin/organisations/org_1/grants': granted,
    'POST /v2/admin/organisations/org_1/suspend': { ...organisation, status: 'suspended' },
    'GET /v2/admin/organisations/org_1': organisation,
  };

  it('grant credit exactly, after a confirmation that names amount and organisation', async () => {
    const api = fakeApi(routes);
    const args = ['admin', 'org', 'grant', 'acme', '25.5', '--reason', 'welcome', '--expires', '2026-12-31'];
    const run = await runCli(args, { ...api, tty: true, answers: ['y'] });
    expect(run.questions).toEqual(['Grant $25.50 to Acme (org_1)? [y/N] ']);
    expect(run.stdout).toBe('Granted $25.50 to Acme. Its balance is $30.00. (trf_1)\n');
    expect(api.requests.at(-1)?.body).toEqual({
      amountNanoUsd: '25500000000',
      reason: 'welcome',
      expiresAt: '2026-12-31T00:00:00.000Z',
    });
    expect(api.requests.at(-1)?.headers.get('idempotency-key')).toMatch(/./);
  });

  it('refuse negative grants, and grants without confirmation', async () => {
    const api = fakeApi(routes);
    for (const amount of ['0', '-5', 'ten', '1e3']) {
      const run = await runCli(
        ['admin', 'org', 'grant', 'acme', '--reason', 'x', '--yes', '--', amount],
        api,
      );
      expect(run.code, amount).toBe(3);
    }
    expect((await runCli(['admin', 'org', 'grant', 'acme', '5', '--reason', 'x'], api)).code).toBe(3);
    expect(api.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  it('say before a suspension what happens to rentals', async () => {
    const api = fakeApi(routes);
    const args = ['admin', 'org', 'suspend', 'org_1', '--reason', 'abuse', '--running-work', 'stop'];
    const run = await runCli(args, { ...api, tty: true, answers: ['n'] });
    expect(run.questions[0]).toContain('Its rentals are terminated.');
    expect([run.code, api.requests.length]).toEqual([2, 1]);
    expect((await runCli([...args, '--yes', '--json'], api)).json().status).toBe('suspended');
  });
});

describe('price commands', () => {
  const price = {
    ...{ id: 'prc_1', organisationId: null, unit: 'gpu_hour', priceNanoUsd: '2490000000' },
    ...{ validFrom: '2026-12-01T00:00:00.000Z', validUntil: null, createdAt: '2026-03-01T12:00:00.000Z' },
    subject: { kind: 'gpu', gpuType: 'h100', machineType: 'virtual-machine', region: null },
  };

  it('set prices in the unit of their subject', async () => {
    const api = fakeApi({ 'POST /v2/admin/prices': price });
    const rest = ['--from', '2026-12-01', '--reason', 'winter', '--yes'];
    await runCli(['admin', 'price', 'create', '2.49', '--gpu', 'h100', ...rest], api);
    await runCli(['admin', 'price', 'create', '0.6', '--model', 'm', ...rest], api);
    await runCli(['admin', 'price', 'create', '0.0001', '--volume', '--region', 'eu-west-1', ...rest], api);
    expect(api.requests.map(({ body }) => [body.subject, body.unit, body.priceNanoUsd])).toEqual([
      [price.subject, 'gpu_hour', '2490000000'],
      [{ kind: 'model', model: 'm', unit: 'completion_token' }, 'million_tokens', '600000000'],
      [{ kind: 'volume', region: 'eu-west-1' }, 'gb_hour', '100000'],
    ]);
    const both = await runCli(['admin', 'price', 'create', '1', '--gpu', 'h100', '--disk', ...rest], api);
    expect(both.code).toBe(3);
  });

  it('list prices with their subjects as text', async () => {
    const api = fakeApi({ 'GET /v2/admin/prices': page(price) });
    const run = await runCli(['admin', 'price', 'list', '--columns', 'what,price,unit'], api);
    expect(run.stdout).toContain('h100 virtual-machine in all regions  $2.49  per gpu hour');
    expect((await runCli(['admin', 'price', 'list', '--json'], api)).json()).toEqual([price]);
  });
});

it('audit-log list filters entries and shows actor and action', async () => {
  const entry = {
    ...{ id: 'aud_1', organisationId: 'org_1', occurredAt: '2026-03-01T12:00:00.000Z', action: 'key.create' },
    ...{
      actor: { kind: 'user', id: 'usr_1' },
      resource: { kind: 'key', id: 'key_1' },
      requestId: null,
      ip: null,
    },
    ...{ reason: null, details: {} },
  };
  const api = fakeApi({ 'GET /v2/admin/audit-log': page(entry), 'GET /v2/audit-log': page(entry) });
  expect((await runCli(['admin', 'audit-log', 'list', '--org', 'org_1', '--json'], api)).json()).toEqual([
    entry,
  ]);
  expect(api.requests[0]?.query['organisationId']).toBe('org_1');
  const own = await runCli(['audit-log', 'list', '--resource', 'key_1'], api);
  expect(own.stdout).toContain('2026-03-01 12:00:00Z  user usr_1  key.create  key key_1');
});
