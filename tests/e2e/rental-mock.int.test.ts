import { randomInt } from 'node:crypto';
import { keyIsRefused, loginAndCount, newProofKey } from '@millrace/compute/proof';
import {
  createTestDatabase,
  eventually,
  startApiProcess,
  startWorkerProcess,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seedOrganisation } from '../../apps/api/src/fixture.ts';

/** A test key from the order to the end of its machine, over the public face of real processes. */

const names = testNames();
const never = new AbortController().signal;
const rentals = '/v2/on-demand/virtual-machine-rentals';
const region = 'mock-region';
let scene: Awaited<ReturnType<typeof startScene>>;

async function startScene() {
  const database: TestDatabase = await createTestDatabase();
  // Addresses of its own, so that mock machines of other tests on this host can have the same ports open.
  const firstAddress = `127.${randomInt(20, 80)}.${randomInt(1, 250)}.1`;
  const cluster = { name: 'mock', region, settings: { firstAddress } };
  const regions = [{ region, customPorts: true }];
  const providers = [{ id: 'mock', variant: 'mock', regions, clusters: [cluster] }];
  const env = { MILLRACE_PROVIDERS: JSON.stringify(providers) };
  const [api, worker] = await Promise.all([
    startApiProcess({ database, names, env }),
    startWorkerProcess({ database, names, env }),
  ]);
  const organisation = await seedOrganisation(database.db);
  const { key } = await organisation.ownerKey('test');
  return { database, api, worker, env, key };
}

beforeAll(async () => {
  scene = await startScene();
});

afterAll(async () => {
  await scene.worker.stop();
  await scene.api.stop();
  await scene.database.drop();
});

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads fields of an answer it then asserts on
async function call(method: string, path: string, body?: unknown): Promise<{ status: number; json: any }> {
  const answer = await fetch(`${scene.api.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${scene.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, json: text === '' ? null : JSON.parse(text) };
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

describe('a test key', () => {
  test('rents a machine, logs into it with its own key, sees what it does, and is rid of it within seconds', async () => {
    const { privateKey, publicKey } = newProofKey();
    expect(await call('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey })).toMatchObject({
      status: 201,
    });
    await eventually({ what: 'the mock fleet' }, async () => {
      const { json } = await call('GET', '/v2/on-demand/rental-options');
      return json.items.some((item: { totalAvailable: number }) => item.totalAvailable > 0);
    });

    const made = await call('POST', rentals, { region, gpuCount: 2, monitoringEnabled: true });
    expect(made, JSON.stringify(made.json)).toMatchObject({ status: 200 });
    const id = made.json.id as number;
    const running = await until(id, 'Running');
    expect(running).toMatchObject({ meta: { monitoring_enabled: true } });

    const [login] = running['ssh'] as readonly Login[];
    if (login === undefined) throw new Error('Nobody is told where to log in.');
    const target = { ...login, privateKey, hostKey: login.hostKeyFingerprint };
    expect(await loginAndCount(target, never)).toMatchObject({ outcome: 'in', gpuCount: 2 });

    const console = await call('GET', `/v2/on-demand/rentals/${id}/console`);
    expect(console).toMatchObject({ status: 200, json: { rentalId: id, truncated: false } });
    expect(console.json.output).toContain('login:');
    const measured = await eventually({ what: 'a sample', timeoutMs: 60_000 }, async () => {
      const { json } = await call('GET', `/v2/on-demand/rentals/${id}/metrics?stepSeconds=10`);
      const memory = json.series.find(({ name }: { name: string }) => name === 'memory.used');
      return memory.points.some(({ value }: { value: number | null }) => value !== null) && json;
    });
    const gpus = measured.series.filter(({ name }: { name: string }) => name === 'gpu.utilisation');
    expect(gpus).toHaveLength(2);

    const ended = await call('POST', `${rentals}/terminate`, { rentalId: id, reason: 'done' });
    expect(ended, JSON.stringify(ended.json)).toMatchObject({ status: 200, json: { status: 'Terminating' } });
    expect(ended.json.finalCost).toMatchObject({ nanoUsd: '0' });
    await eventually({ what: 'the door to be shut', timeoutMs: 5_000 }, async () => {
      return (await keyIsRefused(target, never)) === 'unreachable';
    });
    await until(id, 'Terminated');
    const client = await scene.database.connect();
    const left = await client.query('select 1 from mock_machines where machine is not null');
    await client.end();
    expect(left.rows).toEqual([]);
  }, 120_000);

  test('is let into its machine by another worker when the one that served it is killed', async () => {
    const { privateKey, publicKey } = newProofKey();
    await call('POST', '/v2/ssh-public-keys', { name: 'second laptop', publicKey });
    const made = await call('POST', rentals, { region, gpuCount: 1 });
    const running = await until(made.json.id as number, 'Running');
    const [login] = running['ssh'] as readonly Login[];
    if (login === undefined) throw new Error('Nobody is told where to log in.');
    const target = { ...login, privateKey, hostKey: login.hostKeyFingerprint };
    process.kill(scene.worker.pid, 'SIGKILL');
    await scene.worker.exited;
    expect(await keyIsRefused(target, never)).toBe('unreachable');
    // At the same address: Restate may be in the middle of a call, and calls there again.
    const env = { ...scene.env, MILLRACE_RESTATE_ENDPOINT_PORT: String(scene.worker.endpointPort) };
    const { database } = scene;
    scene = { ...scene, worker: await startWorkerProcess({ database, names, env, name: 'heir' }) };
    await eventually({ what: 'the door to be open again', timeoutMs: 60_000 }, async () => {
      return (await loginAndCount(target, never)).outcome === 'in';
    });
    const rentalId = made.json.id as number;
    expect(await call('POST', `${rentals}/terminate`, { rentalId })).toMatchObject({ status: 200 });
    await until(rentalId, 'Terminated');
  }, 120_000);
});
