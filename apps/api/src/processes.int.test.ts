import { seedOrganisation } from '@millrace/core/fixture';
import { systemClock } from '@millrace/platform/clock';
import { readEndpoints } from '@millrace/services';
import {
  createTestDatabase,
  engineEnv,
  eventually,
  freePorts,
  scaledLimitMs,
  startProcess,
  startStopwatch,
  startTcpProxy,
  type Stopwatch,
  testNames,
  type TestProcess,
  uniqueId,
} from '@millrace/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';

/** Real api processes that are killed. No worker runs in these tests. */

const names = testNames();
/** Two processes for the whole file; tests that kill a process start their own. */
const processes = new Map<number, TestProcess>();

const database = await createTestDatabase();
const seeded = await seedOrganisation(database.db);
const natsProxy = await startTcpProxy(natsUrl());
const urls = await Promise.all([startApi('api-a'), startApi('api-b')]);
afterAll(async () => {
  await Promise.all([...processes.values()].map((running) => running.crash()));
  await natsProxy.close();
  await database.drop();
});

function natsUrl(): string {
  const [url] = readEndpoints().natsUrls;
  if (url === undefined) throw new Error('The test engines have no NATS server.');
  return url;
}

async function startApi(name: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${String(port)}`;
  const running = await startProcess({
    name,
    entry: 'apps/api/src/main.ts',
    env: {
      ...engineEnv({ database, names }, 'api'),
      MILLRACE_HTTP_PORT: String(port),
      MILLRACE_HTTP_VALIDATE_RESPONSES: 'true',
      MILLRACE_NATS_URLS: natsProxy.rewrite(natsUrl()),
      MILLRACE_RATE_LIMIT_DEFAULT_RPM: '1000000',
      MILLRACE_RATE_LIMIT_FAILED_AUTH_RPM: '1000000',
      ...env,
    },
    readyUrl: `${url}/readyz`,
  });
  processes.set(port, running);
  return url;
}

function processAt(url: string): TestProcess {
  const running = processes.get(Number(new URL(url).port));
  if (running === undefined) throw new Error(`No api process was started at ${url}.`);
  return running;
}

interface HttpReply {
  readonly status: number;
  readonly replayed: boolean;
  readonly json: Record<string, unknown>;
}

async function call(
  url: string,
  method: string,
  path: string,
  key: string,
  options: { body?: object; idempotencyKey?: string } = {},
): Promise<HttpReply> {
  const response = await fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey }),
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  return {
    status: response.status,
    replayed: response.headers.get('idempotent-replayed') === 'true',
    json: (await response.json()) as Record<string, unknown>,
  };
}

const request = { name: 'burst', scopes: ['rentals:read'] };
const createKey = (url: string, idempotencyKey: string, body: object = request) =>
  call(url, 'POST', '/v2/api-keys', seeded.owner.key, { body, idempotencyKey });

/** Retries as a client does, because a duplicate waits only two seconds for the first request. */
function createKeyUntilAnswered(url: string, idempotencyKey: string, body: object): Promise<HttpReply> {
  return eventually({ what: 'a response to a duplicate', intervalMs: 200 }, async () => {
    const response = await createKey(url, idempotencyKey, body);
    const isInProgress = response.status === 503 || response.json['reason'] === 'IDEMPOTENCY_IN_PROGRESS';
    return isInProgress ? undefined : response;
  });
}

async function countKeysNamed(name: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*)::int as count from api_keys where name = $1',
    [name],
  );
  return rows[0]?.count ?? 0;
}

/** Repeats a request with the key until it is refused. Returns when the last admitted request was sent. */
async function lastAdmissionMs(url: string, key: string, stopwatch: Stopwatch): Promise<number> {
  let last = -1;
  await eventually({ what: `the key is refused at ${url}`, timeoutMs: 5_000, intervalMs: 5 }, async () => {
    const sentMs = stopwatch.elapsedMs();
    const { status } = await call(url, 'GET', '/v2/me', key);
    if (status === 200) last = await sentMs;
    return status === 401;
  });
  return last;
}

describe('revoked key', () => {
  it.each([
    ['with NATS at work', true],
    ['with NATS dead', false],
  ])('is refused by every api process within a second without a worker, %s', async (_how, natsAlive) => {
    const [first, second] = urls;
    const { json } = await createKey(first, uniqueId());
    const [id, key] = [String(json['id']), String(json['key'])];
    for (const url of urls) expect((await call(url, 'GET', '/v2/me', key)).status).toBe(200);
    if (!natsAlive) natsProxy.cut();

    // Both processes use the key, so that both have it cached when it is revoked.
    const busy = new AbortController();
    const load = urls.map(async (url) => {
      while (!busy.signal.aborted) await call(url, 'GET', '/v2/me', key);
    });
    await call(first, 'GET', '/v2/me', key);
    const revoked = await call(first, 'DELETE', `/v2/api-keys/${id}`, seeded.owner.key);
    const stopwatch = startStopwatch();
    expect(revoked.status).toBe(200);
    const lasts = await Promise.all([
      lastAdmissionMs(first, key, stopwatch),
      lastAdmissionMs(second, key, stopwatch),
    ]);
    busy.abort();
    await Promise.all(load);
    if (!natsAlive) natsProxy.heal();

    // The process that revoked the key refuses it at once; others after a notification or when their cache expires.
    expect(lasts[0]).toBeLessThan(0);
    expect(lasts[1]).toBeLessThan(scaledLimitMs(1_000));
  });
});

describe('Idempotency-Key', () => {
  it('creates one key for 50 concurrent requests to two processes, and only one response has the secret', async () => {
    const name = `one-of-fifty-${uniqueId()}`;
    const requests = Array.from({ length: 50 }, (_, index) =>
      createKeyUntilAnswered(urls[index % 2] ?? urls[0], name, { ...request, name }),
    );
    const responses = await Promise.all(requests);
    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([201]));
    expect(new Set(responses.map((response) => response.json['id'])).size).toBe(1);
    expect(responses.filter((response) => response.json['key'] !== null)).toHaveLength(1);
    expect(responses.filter((response) => !response.replayed)).toHaveLength(1);
    expect(await countKeysNamed(name)).toBe(1);
  });

  it('creates at most one key if the process is killed, and exactly one after the retry elsewhere', async () => {
    const [, second] = urls;
    for (let round = 0; round < 3; round++) {
      const first = await startApi(`api-${String(round)}`);
      const name = `killed-${String(round)}-${uniqueId()}`;
      const body = { ...request, name };
      const burst = Array.from({ length: 50 }, () => createKey(first, name, body).catch(() => null));
      // Each round kills at another point, from before the first commit to after it.
      await systemClock.sleep(round * 30);
      await processAt(first).crash();
      const answered = (await Promise.all(burst)).filter((response) => response?.status === 201);
      expect(await countKeysNamed(name)).toBeLessThanOrEqual(1);

      // PostgreSQL might still be rolling back the killed transaction; a client retries such a refusal.
      const retry = await eventually({ what: 'the retry to be accepted' }, async () => {
        const response = await createKey(second, name, body);
        return response.status === 201 ? response : false;
      });
      expect(await countKeysNamed(name)).toBe(1);
      // Responses from before the crash name the same key.
      for (const response of answered) expect(response?.json['id']).toBe(retry.json['id']);
      const known = await call(second, 'GET', `/v2/operations?idempotencyKey=${name}`, seeded.owner.key);
      expect(known.json).toMatchObject({
        operationId: 'createApiKey',
        status: 'succeeded',
        resource: { id: retry.json['id'] },
      });
    }
  });

  it('replays no refusal: the corrected request under the same key succeeds', async () => {
    const [url] = urls;
    const name = `refused-${uniqueId()}`;
    const refused = await createKey(url, name, { ...request, name, scopes: ['admin:write'] });
    expect(refused.json['reason']).toBe('SCOPE_ESCALATION');
    const lookup = await call(url, 'GET', `/v2/operations?idempotencyKey=${name}`, seeded.owner.key);
    expect(lookup.json['reason']).toBe('OPERATION_NOT_FOUND');
    const corrected = await createKey(url, name, { ...request, name });
    expect(corrected).toMatchObject({ status: 201, replayed: false });
    const other = await createKey(url, name, { ...request, name: `${name}-other` });
    expect(other).toMatchObject({ status: 409, json: { reason: 'IDEMPOTENCY_KEY_REUSED' } });
  });
});

describe('api process', () => {
  it('starts and works while NATS and Valkey are unreachable, reports it and reconnects later', async () => {
    const { valkeyUrl } = readEndpoints();
    const proxies = await Promise.all([startTcpProxy(natsUrl()), startTcpProxy(valkeyUrl)]);
    onTestFinished(async () => void (await Promise.all(proxies.map((proxy) => proxy.close()))));
    for (const proxy of proxies) proxy.cut();
    const url = await startApi('api-alone', {
      MILLRACE_NATS_URLS: proxies[0].rewrite(natsUrl()),
      MILLRACE_VALKEY_URL: proxies[1].rewrite(valkeyUrl),
    });
    const readiness = async () => (await fetch(`${url}/readyz`)).json();
    expect(await readiness()).toMatchObject({
      ready: true,
      degraded: true,
      checks: { postgres: { ok: true }, nats: { ok: false }, valkey: { ok: false } },
    });
    const { status, json } = await createKey(url, uniqueId());
    expect(status).toBe(201);
    const revoked = await call(url, 'DELETE', `/v2/api-keys/${String(json['id'])}`, seeded.owner.key);
    expect(revoked.status).toBe(200);
    expect((await call(url, 'GET', '/v2/me', String(json['key']))).status).toBe(401);

    for (const proxy of proxies) proxy.heal();
    await eventually({ what: 'the engines are found', timeoutMs: 15_000 }, async () => {
      const report = (await readiness()) as { ready: boolean; degraded: boolean };
      return report.ready && !report.degraded;
    });
    expect(await processAt(url).stop()).toBe(0);
  });

  it('may read everything that the public status page needs, with the role of apis', async () => {
    const [url] = urls;
    const read = async (): Promise<unknown> => (await fetch(`${url}/status.json`)).json();
    await expect.poll(read).toMatchObject({ completeCheckAt: expect.any(String) });
  });

  it('drains on SIGTERM and exits with 0', async () => {
    const url = await startApi('api-a');
    expect(await processAt(url).stop()).toBe(0);
  });

  it('refuses to listen beyond loopback without TLS and names the settings to change', async () => {
    const running = await startProcess({
      name: 'api',
      entry: 'apps/api/src/main.ts',
      env: { MILLRACE_HTTP_HOST: '0.0.0.0', MILLRACE_POSTGRES_URL: database.url },
    });
    expect(await running.exited).toMatchObject({ code: 78 });
    expect(running.output()).toContain('MILLRACE_HTTP_HOST');
    expect(running.output()).toContain('MILLRACE_NATS_URLS is not set');
  });
});
