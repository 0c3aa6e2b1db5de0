import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { up } from './commands.ts';
import { claimFreeBlock } from './port-claims.ts';
import { createSite, defaultCacheDir, openSite, portSpan, recordedPortBase } from './site.ts';

let folder = '';
let stateDir = '';
let portBase = 0;
let outsider: Server;

/** Reserves a block of ports in which another program listens on the port of Valkey. */
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'mr-taken-'));
  stateDir = path.join(folder, 'state');
  const claimant = { stateDir: path.join(folder, 'claimant'), cacheDir: defaultCacheDir() };
  portBase = await claimFreeBlock(claimant, 23_000 + (process.pid % 50) * portSpan);
  outsider = createServer().listen(portBase + 10, '127.0.0.1');
  await once(outsider, 'listening');
});

afterEach(async () => {
  outsider.close();
  await once(outsider, 'close');
  rmSync(folder, { recursive: true, force: true });
});

test('`up` in a new state folder starts no engine and saves no port base if a port is taken', async () => {
  const outcomes = await up(['postgres', 'valkey'], { stateDir, portBase });
  expect(outcomes.map(({ engine, result }) => [engine.name, result])).toEqual([
    ['postgres', 'skipped'],
    ['valkey', 'failed'],
  ]);
  const failure = outcomes.find(({ result }) => result === 'failed')?.failure;
  expect(failure?.message).toContain(`Port ${portBase + 10}`);
  expect(failure?.remedy).toContain('--port-base auto');
  expect(recordedPortBase(stateDir)).toBeUndefined();
  expect(openSite({ stateDir, portBase: portBase + portSpan }).portBase).toBe(portBase + portSpan);
});

test('openSite: can change a saved port base while no engine was started', () => {
  createSite(openSite({ stateDir, portBase }));
  const other = openSite({ stateDir, portBase: portBase + portSpan });
  expect(other.portBase).toBe(portBase + portSpan);
  createSite(other);
  expect(recordedPortBase(stateDir)).toBe(portBase + portSpan);
});
