import { EventEmitter } from 'node:events';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { createLogger } from '../log/index.ts';
import { createLifecycle, installSignalHandlers, serveHealth, startHealthServer } from './index.ts';
import type { Lifecycle } from './index.ts';

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
  const { lifecycle } = make();
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

test('lifecycle runs each check once for concurrent callers, and again for later ones', async () => {
  const { lifecycle } = make();
  let calls = 0;
  lifecycle.addCheck({ name: 'postgres', timeoutMs: 100, required: true, check: async () => (calls += 1) });
  lifecycle.started();
  const reports = await Promise.all(Array.from({ length: 50 }, () => lifecycle.ready()));
  expect(reports.every(({ ready, degraded }) => ready && !degraded)).toBe(true);
  expect(calls).toBe(1);
  await lifecycle.ready();
  expect(calls).toBe(2);
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

test('drain waits for load balancers before it refuses connections', async () => {
  const { lifecycle, clock } = make({ lameDuckMs: 300 });
  let refused = false;
  lifecycle.onDrain('accept', 'listen', async () => {
    refused = true;
  });
  const done = lifecycle.shutdown('test');
  await clock.advance(299);
  expect(refused).toBe(false);
  await clock.advance(1);
  await done;
  expect(refused).toBe(true);
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

test('serveHealth and startHealthServer both serve /healthz and /readyz', async () => {
  const { lifecycle } = make();
  const fastify = Fastify();
  serveHealth(fastify, lifecycle);
  const server = await startHealthServer({ lifecycle, port: 0 });
  const alone = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${server.port}${path}`)).status;
  const mounted = async (path: string): Promise<number> => (await fastify.inject(path)).statusCode;
  try {
    for (const statusAt of [alone, mounted]) {
      expect([await statusAt('/healthz'), await statusAt('/readyz')]).toEqual([200, 503]);
    }
    expect(await alone('/else')).toBe(404);
    lifecycle.started();
    for (const statusAt of [alone, mounted]) expect(await statusAt('/readyz')).toBe(200);
  } finally {
    await server.close();
    await fastify.close();
  }
});
