import { EventEmitter } from 'node:events';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { createLogger } from '../log/index.ts';
import {
  createHealthHandler,
  createLifecycle,
  installSignalHandlers,
  serveHealth,
  startHealthServer,
} from './index.ts';
import type { HealthOptions, Lifecycle } from './index.ts';

const log = createLogger({ name: 'test', level: 'silent' });

function make(options: { readonly lameDuckMs?: number } = {}): {
  lifecycle: Lifecycle;
  clock: SimulatedClock;
} {
  const clock = new SimulatedClock();
  return { clock, lifecycle: createLifecycle({ clock, log, drainDeadlineMs: 1_000, ...options }) };
}

const never = (): Promise<void> => new Promise(() => undefined);

test('lifecycle is ready once started and while every required check passes', async () => {
  const { lifecycle, clock } = make();
  let up = true;
  const check = async (): Promise<void> => {
    if (!up) throw Object.assign(new Error('connect to 10.0.0.5 as admin failed'), { code: 'ECONNREFUSED' });
  };
  lifecycle.addCheck({ name: 'postgres', timeoutMs: 100, required: true, check });
  expect((await lifecycle.ready()).ready).toBe(false);
  lifecycle.started();
  expect(await lifecycle.ready()).toMatchObject({
    ready: true,
    state: 'running',
    checks: { postgres: { ok: true } },
  });
  up = false;
  await clock.advance(1_000);
  const report = await lifecycle.ready();
  expect(report).toMatchObject({
    ready: false,
    checks: { postgres: { ok: false, detail: 'failed: Error ECONNREFUSED' } },
  });
  expect(JSON.stringify(report)).not.toContain('10.0.0.5');
});

test('lifecycle reports a failed optional dependency as degraded and stays ready', async () => {
  const { lifecycle } = make();
  lifecycle.addCheck({
    name: 'valkey',
    timeoutMs: 100,
    required: false,
    check: () => Promise.reject(new Error('down')),
  });
  lifecycle.started();
  expect(await lifecycle.ready()).toMatchObject({
    ready: true,
    degraded: true,
    checks: { valkey: { ok: false } },
  });
});

test('lifecycle runs each check at most once a second for any number of callers', async () => {
  const { lifecycle, clock } = make();
  let calls = 0;
  lifecycle.addCheck({ name: 'postgres', timeoutMs: 100, required: true, check: async () => (calls += 1) });
  lifecycle.started();
  const reports = await Promise.all(Array.from({ length: 50 }, () => lifecycle.ready()));
  expect(reports.every(({ ready, degraded }) => ready && !degraded)).toBe(true);
  await clock.advance(999);
  await lifecycle.ready();
  expect(calls).toBe(1);
  await clock.advance(1);
  await lifecycle.ready();
  expect(calls).toBe(2);
});

test('lifecycle includes a check that was added after the last run', async () => {
  const { lifecycle } = make();
  lifecycle.started();
  expect((await lifecycle.ready()).ready).toBe(true);
  const check = (): Promise<void> => Promise.reject(new Error('down'));
  lifecycle.addCheck({ name: 'postgres', timeoutMs: 100, required: true, check });
  expect((await lifecycle.ready()).ready).toBe(false);
});

test('lifecycle fails a check at its timeout without delaying other checks', async () => {
  const { lifecycle, clock } = make();
  lifecycle.addCheck({ name: 'slow', timeoutMs: 500, required: true, check: never });
  lifecycle.addCheck({ name: 'quick', timeoutMs: 500, required: true, check: async () => {} });
  lifecycle.started();
  const report = lifecycle.ready();
  await clock.advance(500);
  expect((await report).checks).toMatchObject({
    slow: { ok: false, tookMs: 500, detail: 'no response within 500 ms' },
    quick: { ok: true },
  });
});

test('drain runs phase by phase, regardless of the order of registration', async () => {
  const { lifecycle } = make();
  const seen: string[] = [];
  for (const phase of ['pools', 'consumers', 'requests', 'accept'] as const) {
    lifecycle.onDrain(phase, phase, async () => {
      seen.push(phase);
    });
  }
  lifecycle.started();
  expect(await lifecycle.shutdown('test')).toBe(true);
  expect(seen).toEqual(['accept', 'requests', 'consumers', 'pools']);
  expect([lifecycle.state, lifecycle.live()]).toEqual(['stopped', false]);
});

test('drain makes the process not ready and aborts the draining signal', async () => {
  const { lifecycle } = make();
  lifecycle.started();
  let during: unknown;
  lifecycle.onDrain('requests', 'look', async () => {
    during = [(await lifecycle.ready()).ready, lifecycle.draining.aborted, lifecycle.live()];
  });
  await lifecycle.shutdown('test');
  expect(during).toEqual([false, true, true]);
});

test('drain abandons a hanging step at the deadline and still closes pools', async () => {
  const { lifecycle, clock } = make();
  let poolsClosed = false;
  lifecycle.onDrain('requests', 'hangs', never);
  lifecycle.onDrain('pools', 'postgres', async () => {
    poolsClosed = true;
  });
  const done = lifecycle.shutdown('test');
  await clock.advance(1_000);
  expect([await done, poolsClosed]).toEqual([false, true]);
});

test('drain continues after a failed step and reports that it was not clean', async () => {
  const { lifecycle } = make();
  let closed = false;
  lifecycle.onDrain('accept', 'fails', () => Promise.reject(new Error('no')));
  lifecycle.onDrain('pools', 'closes', async () => {
    closed = true;
  });
  expect([await lifecycle.shutdown('test'), closed]).toEqual([false, true]);
});

test('a running process is not ready during the lame-duck period and drains after it', async () => {
  const { lifecycle, clock } = make({ lameDuckMs: 5_000 });
  let refused = false;
  lifecycle.onDrain('accept', 'listen', async () => {
    refused = true;
  });
  lifecycle.started();
  const done = lifecycle.shutdown('test');
  expect(await lifecycle.ready()).toMatchObject({ ready: false, state: 'lame-duck' });
  expect([lifecycle.live(), lifecycle.leaving.aborted, lifecycle.draining.aborted]).toEqual([
    true,
    true,
    false,
  ]);
  await clock.advance(4_999);
  expect(refused).toBe(false);
  await clock.advance(1);
  // Longer than the deadline of the drain, which therefore starts after it.
  expect([await done, refused, lifecycle.draining.aborted]).toEqual([true, true, true]);
});

test('a process that has not started drains without a lame-duck period', async () => {
  const { lifecycle } = make({ lameDuckMs: 5_000 });
  const done = lifecycle.shutdown('failed to start');
  expect(lifecycle.state).toBe('draining');
  expect(await done).toBe(true);
});

class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

test('installSignalHandlers drains and exits with 0 on the first signal', async () => {
  const { lifecycle } = make();
  const source = new FakeProcess();
  installSignalHandlers(lifecycle, log, source);
  source.emit('SIGTERM', 'SIGTERM');
  await lifecycle.shutdown('again');
  await new Promise(setImmediate);
  expect(source.exits).toEqual([0]);
});

test('installSignalHandlers exits at once on the second signal', () => {
  const { lifecycle } = make();
  lifecycle.onDrain('accept', 'hangs', never);
  const source = new FakeProcess();
  const remove = installSignalHandlers(lifecycle, log, source);
  source.emit('SIGTERM', 'SIGTERM');
  source.emit('SIGINT', 'SIGINT');
  expect(source.exits).toEqual([1]);
  remove();
  expect(source.listenerCount('SIGTERM')).toBe(0);
});

const build = { version: '1.2.3', commit: 'abc1234' };

interface Probe {
  readonly status: number;
  readonly body: unknown;
}

/** The same requests to a health server, to a Fastify server and with HEAD. */
async function probing(
  options: HealthOptions,
  run: (probes: readonly ((path: string, authorization?: string) => Promise<Probe>)[]) => Promise<void>,
): Promise<void> {
  const fastify = Fastify();
  serveHealth(fastify, options);
  const server = await startHealthServer({ host: '127.0.0.1', port: 0 }, createHealthHandler(options));
  const headersOf = (authorization?: string) => (authorization === undefined ? {} : { authorization });
  try {
    await run([
      async (path, authorization) => {
        const headers = headersOf(authorization);
        const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers });
        const text = await response.text();
        return { status: response.status, body: text === '' ? null : JSON.parse(text) };
      },
      async (path, authorization) => {
        const response = await fastify.inject({ url: path, headers: headersOf(authorization) });
        return { status: response.statusCode, body: response.json() };
      },
    ]);
  } finally {
    await server.close();
    await fastify.close();
  }
}

test('health routes report state, checks, version and commit on every kind of server', async () => {
  const { lifecycle } = make();
  await probing({ lifecycle, build, token: null }, async (probes) => {
    for (const probe of probes) {
      expect(await probe('/healthz')).toEqual({
        status: 200,
        body: { live: true, state: 'starting', ...build },
      });
      expect(await probe('/readyz')).toMatchObject({ status: 503, body: { ready: false, ...build } });
      expect((await probe('/else')).status).toBe(404);
    }
    lifecycle.started();
    for (const probe of probes) {
      expect(await probe('/readyz?from=balancer')).toMatchObject({
        status: 200,
        body: { ready: true, checks: {} },
      });
    }
  });
});

test('health routes respond to HEAD and refuse other methods', async () => {
  const { lifecycle } = make();
  const options = { lifecycle, build, token: null };
  const server = await startHealthServer({ host: '127.0.0.1', port: 0 }, createHealthHandler(options));
  const url = `http://127.0.0.1:${server.port}/healthz`;
  try {
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(url, { method: 'POST' })).status).toBe(404);
  } finally {
    await server.close();
  }
});

test('health routes give details only for the token, the status to everyone, and refuse a wrong token', async () => {
  const { lifecycle } = make();
  lifecycle.started();
  const token = 'a-token-of-the-operator';
  await probing({ lifecycle, build, token }, async (probes) => {
    for (const probe of probes) {
      expect(await probe('/healthz')).toEqual({ status: 200, body: { live: true } });
      expect(await probe('/readyz')).toEqual({ status: 200, body: { ready: true } });
      expect(await probe('/readyz', `Bearer ${token}`)).toMatchObject({
        status: 200,
        body: { checks: {}, ...build },
      });
      for (const wrong of [`Bearer ${token}x`, 'Bearer', `Basic ${token}`, '']) {
        expect((await probe('/readyz', wrong)).status, wrong).toBe(401);
      }
    }
  });
});
