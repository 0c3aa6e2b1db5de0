import { isKeyRejected, loginAndCountGpus, newReadinessKey } from '@millrace/compute/readiness';
import { seedOrganisation } from '@millrace/core/fixture';
import {
  createTestDatabase,
  eventually,
  startApiProcess,
  startWorkerProcess,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditAndDrop } from '../stack/ledger-audit.ts';
import { MOCK_REGION, mockProviders } from '../stack/mock-stack.ts';
import { preparePublicProxy } from '../stack/public-proxy.ts';

/** Rentals and instances of a test key through the one public address: HAProxy as we ship it, and two apis. */

const names = testNames();
const never = new AbortController().signal;
const rentals = '/v2/on-demand/virtual-machine-rentals';
const instances = '/v1/marketplace/instances';
const region = MOCK_REGION;
let harness: Awaited<ReturnType<typeof startHarness>>;

async function startHarness() {
  const database: TestDatabase = await createTestDatabase();
  const env = { MILLRACE_PROVIDERS: JSON.stringify(mockProviders()) };
  const proxy = await preparePublicProxy('haproxy');
  const [worker, ...apis] = await Promise.all([
    startWorkerProcess({ database, names, env }),
    ...proxy.apis.map((each) => startApiProcess({ database, names, env: { ...env, ...each.env } })),
  ]);
  await proxy.start();
  const organisation = await seedOrganisation(database.db);
  const { key } = await organisation.ownerKey('test');
  const operator = await seedOrganisation(database.db, { platformRole: 'operator' });
  return {
    database,
    proxy,
    apis,
    worker,
    env,
    key,
    orgId: organisation.organisation.id,
    operatorKey: operator.owner.key,
  };
}

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(async () => {
  await harness.worker.stop();
  await Promise.all(harness.apis.map((api) => api.stop()));
  await harness.proxy[Symbol.asyncDispose]();
  await auditAndDrop(harness.database);
});

async function call(
  method: string,
  path: string,
  body?: unknown,
  key = harness.key,
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on any field of a response
): Promise<{ status: number; json: any }> {
  const response = await fetch(`${harness.proxy.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? null : JSON.parse(text) };
}

async function until(id: number, status: string): Promise<Record<string, unknown>> {
  return eventually({ what: status, timeoutMs: 60_000 }, async () => {
    const { json } = await call('GET', `/v2/on-demand/rentals/${id}`);
    if (json.status === 'Failed') throw new Error(JSON.stringify(json));
    return json.status === status && json;
  });
}

interface Login {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly hostKeyFingerprint: string;
}

describe('test key', () => {
  test('rents a machine, logs in by SSH, reads console and metrics, and terminates it within seconds', async () => {
    const { privateKey, publicKey } = newReadinessKey();
    expect(await call('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey })).toMatchObject({
      status: 201,
    });
    await eventually({ what: 'the mock fleet to have free machines' }, async () => {
      const { json } = await call('GET', '/v2/on-demand/rental-options');
      return json.items.some((item: { totalAvailable: number }) => item.totalAvailable > 0);
    });

    const made = await call('POST', rentals, { region, gpuCount: 2, monitoringEnabled: true });
    expect(made, JSON.stringify(made.json)).toMatchObject({ status: 200 });
    const id = made.json.id as number;
    const running = await until(id, 'Running');
    expect(running).toMatchObject({ meta: { monitoring_enabled: true } });

    const [login] = running['ssh'] as readonly Login[];
    if (login === undefined) throw new Error('The rental has no SSH endpoint.');
    const target = { ...login, privateKey, hostKey: login.hostKeyFingerprint };
    expect(await loginAndCountGpus(target, never)).toMatchObject({ outcome: 'in', gpuCount: 2 });

    const console = await call('GET', `/v2/on-demand/rentals/${id}/console`);
    expect(console).toMatchObject({ status: 200, json: { rentalId: id, truncated: false } });
    expect(console.json.output).toContain('login:');
    const measured = await eventually({ what: 'a sample', timeoutMs: 60_000 }, async () => {
      const { json } = await call('GET', `/v2/on-demand/rentals/${id}/metrics?stepSeconds=10`);
      const has = (wanted: string) =>
        json.series.some(
          ({ name, points }: { name: string; points: readonly { value: number | null }[] }) =>
            name === wanted && points.some(({ value }) => value !== null),
        );
      return has('memory.used') && has('gpu.utilisation') && json;
    });
    const gpus = measured.series.filter(({ name }: { name: string }) => name === 'gpu.utilisation');
    expect(gpus).toHaveLength(2);

    const ended = await call('POST', `${rentals}/terminate`, { rentalId: id, reason: 'done' });
    expect(ended, JSON.stringify(ended.json)).toMatchObject({ status: 200, json: { status: 'Terminating' } });
    expect(ended.json.finalCost).toMatchObject({ nanoUsd: '0' });
    await eventually({ what: 'SSH to be unreachable', timeoutMs: 5_000 }, async () => {
      return (await isKeyRejected(target, never)) === 'unreachable';
    });
    await until(id, 'Terminated');
    const left = await harness.database.query('select 1 from mock_machines where machine is not null');
    expect(left.rows).toEqual([]);
  });

  test('finds, rents and terminates a marketplace instance and logs in with its SSH command', async () => {
    const { privateKey, publicKey } = newReadinessKey();
    await call('POST', '/v2/ssh-public-keys', { name: 'market laptop', publicKey });
    const machine = await eventually({ what: 'a machine in the listing' }, async () => {
      const { json } = await call('POST', '/v1/marketplace', {
        filters: { region, gpu_model: 'H200', min_gpus_available: 3, status: 'node_ready' },
      });
      return json.instances[0];
    });
    expect(machine).toMatchObject({ cluster_name: 'mock-market', gpus_total: 8, gpus_reserved: 0 });
    const order = { cluster_name: machine.cluster_name, node_name: machine.id, gpu_count: 3 };
    const made = await call('POST', `${instances}/create`, {
      ...order,
      image: { name: 'default', port: 8080 },
    });
    expect(made, JSON.stringify(made.json)).toMatchObject({ status: 200, json: { status: 'success' } });
    const name = made.json.instance_name as string;
    const online = await eventually({ what: 'online', timeoutMs: 60_000 }, async () => {
      const { json } = await call('GET', instances);
      const found = json.instances.find(({ id }: { id: string }) => id === name);
      return found?.instance.status === 'online' && found;
    });
    expect(online).toMatchObject({ end: null, portMappings: [{ protocol: 'tcp' }] });
    const [, user = '', host = '', port] = /^ssh (\S+)@(\S+) -p (\d+)$/.exec(online.sshCommand) ?? [];
    const target = { host, port: Number(port), user, privateKey, hostKey: null };
    expect(await loginAndCountGpus(target, never)).toMatchObject({ outcome: 'in', gpuCount: 3 });
    await eventually({ what: 'the listing to show the reserved GPUs', timeoutMs: 5_000 }, async () => {
      const { json } = await call('POST', '/v1/marketplace', { filters: { region, id: machine.id } });
      return json.instances[0]?.gpus_reserved === 3;
    });

    expect(await call('POST', `${instances}/terminate`, { id: name })).toMatchObject({
      status: 200,
      json: { status: 'success' },
    });
    await eventually({ what: 'SSH to be unreachable', timeoutMs: 5_000 }, async () => {
      return (await isKeyRejected(target, never)) === 'unreachable';
    });
    const past = await eventually({ what: 'its history', timeoutMs: 30_000 }, async () => {
      const { json } = await call('GET', `${instances}/history`);
      return json.instance_history.find((each: { instance_name: string }) => each.instance_name === name);
    });
    expect(past).toMatchObject({
      gpu_count: 3,
      cost_nano_usd: '0',
      price: { amount: 1.5, period: 'hourly' },
    });
  });

  test('reaches its machine by SSH again after the worker that served it is killed and replaced', async () => {
    const { privateKey, publicKey } = newReadinessKey();
    await call('POST', '/v2/ssh-public-keys', { name: 'second laptop', publicKey });
    const made = await call('POST', rentals, { region, gpuCount: 1 });
    const running = await until(made.json.id as number, 'Running');
    const [login] = running['ssh'] as readonly Login[];
    if (login === undefined) throw new Error('The rental has no SSH endpoint.');
    const target = { ...login, privateKey, hostKey: login.hostKeyFingerprint };
    process.kill(harness.worker.pid, 'SIGKILL');
    await harness.worker.exited;
    expect(await isKeyRejected(target, never)).toBe('unreachable');
    // Use the same port, because Restate retries calls in progress there.
    const env = { ...harness.env, MILLRACE_RESTATE_ENDPOINT_PORT: String(harness.worker.endpointPort) };
    const { database } = harness;
    harness = { ...harness, worker: await startWorkerProcess({ database, names, env, name: 'heir' }) };
    await eventually({ what: 'SSH to be reachable again', timeoutMs: 60_000 }, async () => {
      return (await loginAndCountGpus(target, never)).outcome === 'in';
    });
    const rentalId = made.json.id as number;
    expect(await call('POST', `${rentals}/terminate`, { rentalId })).toMatchObject({ status: 200 });
    await until(rentalId, 'Terminated');
  });

  test('loses access, and its machine is terminated, when its organisation is suspended with runningWork stop', async () => {
    const { json: made } = await call('POST', rentals, { region, gpuCount: 1 });
    const id = made.id as number;
    await until(id, 'Running');
    const asOperator = (method: string, path: string, body?: unknown) =>
      call(method, `/v2/admin/${path}`, body, harness.operatorKey);
    const suspend = (runningWork: 'keep' | 'stop') =>
      asOperator('POST', `organisations/${harness.orgId}/suspend`, {
        reason: 'abuse report 17',
        runningWork,
      });

    expect(await suspend('keep')).toMatchObject({ status: 200, json: { status: 'suspended' } });
    expect((await call('GET', `/v2/on-demand/rentals/${id}`)).json.reason).toBe('ORGANISATION_SUSPENDED');
    for (let time = 0; time < 2; time += 1) expect((await suspend('stop')).status).toBe(200);
    await eventually({ what: 'its end', timeoutMs: 60_000 }, async () => {
      const { json } = await asOperator(
        'GET',
        `rentals?organisationId=${harness.orgId}&status=Terminated&limit=100`,
      );
      return json.items.some((item: { id: number }) => item.id === id);
    });
    const { json: log } = await asOperator('GET', 'audit-log?action=organisation.suspended');
    expect(log.items.map(({ details }: { details: { after: unknown } }) => details.after)).toEqual([
      // Includes rentals that earlier tests left running.
      { status: 'suspended', runningWork: 'stop', ended: expect.any(Number) },
      { status: 'suspended', runningWork: 'keep', ended: 0 },
    ]);
  });
});
