import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createTestDatabase,
  engineEnv,
  eventually,
  freePorts,
  makeCertificate,
  startApiProcess,
  startProcess,
  startTcpProxy,
  startWorkerProcess,
  testNames,
  type TestCertificate,
  type TestDatabase,
  type TestProcess,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

const TOKEN = 'token-of-the-monitoring';
const COMMIT = 'b1946ac92492d2347c6235b4d2611184b1946ac9';
/** Longer than any test, so that a process in its lame-duck period stays in it. */
const LONG_MS = '600000';

interface Probe {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function probe(url: string, token: string | null = TOKEN): Promise<Probe> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

let database: TestDatabase;
const names = testNames();
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

interface GatewayProcess extends TestProcess {
  readonly publicUrl: string;
  readonly healthUrl: string;
}

/** Its health and metrics are at 127.0.0.2, where nothing listens by default. */
async function startGateway(env: Readonly<Record<string, string>>): Promise<GatewayProcess> {
  const [port = 0, healthPort = 0] = await freePorts(2);
  const healthUrl = `http://127.0.0.2:${healthPort}`;
  const started = await startProcess({
    name: 'gateway',
    entry: 'apps/gateway/src/main.ts',
    env: {
      ...engineEnv({ database, names }, 'gateway'),
      MILLRACE_HTTP_PORT: String(port),
      MILLRACE_GATEWAY_HEALTH_PORT: String(healthPort),
      MILLRACE_HEALTH_HOST: '127.0.0.2',
      ...env,
    },
    readyUrl: `${healthUrl}/readyz`,
  });
  return { ...started, publicUrl: `http://127.0.0.1:${port}`, healthUrl };
}

const released = { MILLRACE_HEALTH_TOKEN: TOKEN, MILLRACE_COMMIT: COMMIT };
const details = { version: expect.stringMatching(/^\d+\.\d+\.\d+/), commit: COMMIT };

describe('health of processes', () => {
  test('worker and gateway report version, commit and dependencies at the configured address', async () => {
    const { MILLRACE_POT_VALKEY_URL: valkeyUrl = '' } = engineEnv({ database, names }, 'gateway');
    const proxy = await startTcpProxy(valkeyUrl);
    const [metricsPort = 0] = await freePorts(1);
    await using worker = await startWorkerProcess({ database, names, env: released });
    await using gateway = await startGateway({
      ...released,
      MILLRACE_POT_VALKEY_URL: proxy.rewrite(valkeyUrl),
      MILLRACE_PROMETHEUS_HOST: '127.0.0.2',
      MILLRACE_PROMETHEUS_PORT: String(metricsPort),
    });
    // On a slow machine a check may exceed its second once.
    const slow = { timeout: 120_000 };
    for (const url of [worker.healthUrl, gateway.healthUrl, gateway.publicUrl]) {
      expect(await probe(`${url}/healthz`)).toMatchObject({ status: 200, body: { live: true, ...details } });
      const isReady = { status: 200, body: { ready: true, ...details } };
      await expect.poll(() => probe(`${url}/readyz`), slow).toMatchObject(isReady);
      const brief = { status: 200, body: { ready: true } };
      await expect.poll(() => probe(`${url}/readyz`, null), slow).toEqual(brief);
      expect((await probe(`${url}/readyz`, `${TOKEN}x`)).status).toBe(401);
    }
    await expect(fetch(gateway.healthUrl.replace('127.0.0.2', '127.0.0.1'))).rejects.toThrow('fetch failed');

    const metrics = `http://127.0.0.2:${metricsPort}/metrics`;
    expect((await fetch(metrics)).status).toBe(401);
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect(await (await fetch(metrics, { headers })).text()).toContain('target_info');

    proxy.cut();
    const valkeyFails = { valkey: { ok: false, required: true, detail: expect.any(String) } };
    await expect
      .poll(() => probe(`${gateway.publicUrl}/readyz`), slow)
      .toMatchObject({ status: 503, body: { ready: false, checks: { ...valkeyFails, nats: { ok: true } } } });
    const failed = await probe(`${gateway.publicUrl}/readyz`);
    expect(JSON.stringify(failed.body)).not.toContain(new URL(proxy.rewrite(valkeyUrl)).port);
    expect(await probe(`${gateway.publicUrl}/healthz`)).toMatchObject({ status: 200 });
    proxy.heal();
    await proxy.close();
  });

  test('a gateway in its lame-duck period is not ready, still serves and closes connections', async () => {
    await using worker = await startWorkerProcess({ database, names });
    await using gateway = await startGateway({ MILLRACE_LAME_DUCK_MS: LONG_MS });
    process.kill(gateway.pid, 'SIGTERM');
    await untilLameDuck(`${gateway.publicUrl}/readyz`);
    const models = await fetch(`${gateway.publicUrl}/v1/models`);
    expect([models.status, models.headers.get('connection')]).toEqual([401, 'close']);
    expect(worker.running()).toBe(true);
  });

  test('an api in its lame-duck period is not ready, still serves and closes connections', async () => {
    const env = { MILLRACE_LAME_DUCK_MS: LONG_MS };
    await using api = await startApiProcess({ database, names, env });
    const before = await fetch(`${api.url}/v2/installation`);
    expect([before.status, before.headers.get('connection')]).toEqual([200, 'keep-alive']);
    process.kill(api.pid, 'SIGTERM');
    await untilLameDuck(`${api.url}/readyz`);
    const during = await fetch(`${api.url}/v2/installation`);
    expect([during.status, during.headers.get('connection')]).toEqual([200, 'close']);
    process.kill(api.pid, 'SIGTERM');
    expect((await api.exited).code).toBe(1);
  });

  test('a process drains and exits cleanly after its lame-duck period', async () => {
    await using api = await startApiProcess({ database, names, env: { MILLRACE_LAME_DUCK_MS: '200' } });
    expect(await api.stop()).toBe(0);
  });
});

test('an api serves a renewed certificate without a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'renewed-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const write = async ({ certificate, key }: TestCertificate): Promise<void> => {
    await writeFile(certFile, certificate);
    await writeFile(keyFile, key);
  };
  const [first, second] = [await makeCertificate('first'), await makeCertificate('second')];
  await write(first);
  const [port = 0] = await freePorts(1);
  await using api = await startProcess({
    name: 'api',
    entry: 'apps/api/src/main.ts',
    env: {
      ...engineEnv({ database, names }, 'api'),
      MILLRACE_HTTP_PORT: String(port),
      MILLRACE_HTTP_TLS_CERT_FILE: certFile,
      MILLRACE_HTTP_TLS_KEY_FILE: keyFile,
    },
  });
  const serves = ({ certificate }: TestCertificate) =>
    eventually({ what: 'the certificate is served' }, () => isReadyOver(port, certificate));
  await serves(first);
  await write(second);
  await serves(second);
  expect(await api.stop()).toBe(0);
});

/** Trusts only this certificate. */
function isReadyOver(port: number, ca: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, path: '/readyz', ca, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.once('error', () => resolve(false));
    call.end();
  });
}

async function untilLameDuck(readyUrl: string): Promise<void> {
  await eventually({ what: 'the process is not ready' }, async () => {
    const { status, body } = await probe(readyUrl, null);
    return status === 503 && body['state'] === 'lame-duck';
  });
}
