import { expect, test } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { createLifecycle, serveHealth } from '../lifecycle/index.ts';
import { createLogger } from '../log/index.ts';
import { createTestServer } from './test-server.fixture.ts';

const silent = createLogger({ name: 'test', level: 'silent' });

test('endRequest logs successful probes at level debug and failed ones at level info', async () => {
  const server = createTestServer();
  const lifecycle = createLifecycle({ clock: systemClock, log: silent, drainDeadlineMs: 1_000 });
  serveHealth(server.fastify, { lifecycle, build: { version: '1.2.3', commit: null }, token: null });
  const levelOf = async (path: string): Promise<unknown> => {
    await server.fastify.inject(path);
    return JSON.parse(server.lines.at(-1) ?? '').level;
  };
  try {
    expect(await levelOf('/readyz')).toBe('info');
    lifecycle.started();
    expect([await levelOf('/readyz'), await levelOf('/healthz')]).toEqual(['debug', 'debug']);
    expect(await levelOf('/nowhere')).toBe('info');
  } finally {
    await server.close();
  }
});

test('endRequest logs the path without its query, which may contain a token', async () => {
  const server = createTestServer();
  try {
    await server.fastify.inject('/console/reset-password?token=not-for-the-log');
    expect(JSON.parse(server.lines.at(-1) ?? '')).toMatchObject({ path: '/console/reset-password' });
    expect(server.lines.join('')).not.toContain('not-for-the-log');
  } finally {
    await server.close();
  }
});
