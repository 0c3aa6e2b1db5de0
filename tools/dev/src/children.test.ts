import { createServer, type Server } from 'node:http';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startChildren, type ChildSpec } from './children.ts';

let folder: string;
let readiness: Server;
let readyUrl: string;
const printed: string[] = [];

beforeEach(async () => {
  printed.length = 0;
  folder = mkdtempSync(path.join(tmpdir(), 'mr-children-'));
  // Health endpoint of all test processes.
  readiness = createServer((_request, response) => void response.end('{}'));
  await new Promise<void>((resolve) => readiness.listen(0, '127.0.0.1', resolve));
  readyUrl = `http://127.0.0.1:${String((readiness.address() as AddressInfo).port)}/readyz`;
});

afterEach(() => {
  readiness.close();
  rmSync(folder, { recursive: true, force: true });
});

function child(name: string, source: string): ChildSpec {
  const entry = path.join(folder, `${name}.mjs`);
  writeFileSync(entry, source);
  return { name, entry, env: { PATH: process.env['PATH'] }, readyUrl };
}

function started(specs: readonly ChildSpec[], showLogs = false) {
  const logFolder = path.join(folder, 'logs');
  const print = (line: string): void => void printed.push(line);
  return startChildren(specs, { root: folder, logFolder, watch: false, showLogs, print });
}

/** A script that writes its pid, prints a line and runs until it is stopped. */
const steady = (pidFile: string): string => `
  import { appendFileSync } from 'node:fs';
  appendFileSync(${JSON.stringify(pidFile)}, process.pid + '\\n');
  console.log('{"level":"warn","time":"2026-01-01T00:00:00.000Z","msg":"stream not found"}');
  setInterval(() => {}, 1000);
`;

const pidsIn = (file: string): number[] => readFileSync(file, 'utf8').trim().split('\n').map(Number);

test('startChildren: reports and restarts a process that ended, while the others keep running', async () => {
  const pids = { api: path.join(folder, 'api.pids'), worker: path.join(folder, 'worker.pids') };
  const children = started([child('api', steady(pids.api)), child('worker', steady(pids.worker))]);
  await children.ready();
  await expect.poll(() => readFileSync(pids.worker, 'utf8')).not.toBe('');
  const [killed = 0] = pidsIn(pids.worker);
  process.kill(killed, 'SIGKILL');
  await expect.poll(() => pidsIn(pids.worker).length).toBe(2);
  expect(printed.join('')).toContain('worker ended with SIGKILL.');
  expect(pidsIn(pids.api)).toHaveLength(1);
  await children.stop();
});

test('startChildren: writes log lines to a file, and to the terminal only with showLogs', async () => {
  const quiet = started([child('api', steady(path.join(folder, 'pids')))]);
  const log = path.join(folder, 'logs', 'api.log');
  await expect.poll(() => readFileSync(log, 'utf8')).toContain('stream not found');
  await quiet.stop();
  expect(printed.join('')).toBe('');
  const loud = started([child('api', steady(path.join(folder, 'pids')))], true);
  await expect.poll(() => printed.join('')).toContain('stream not found');
  await loud.stop();
});

test('startChildren: does not restart a process with wrong settings, and prints its last lines', async () => {
  readiness.close();
  const children = started([child('api', `console.error('MILLRACE_X is wrong.'); process.exit(78);`)]);
  await expect(children.ready()).rejects.toThrow('api cannot be started.');
  await children.stop();
  expect(printed.join('')).toContain('api ended with code 78. It is not restarted.');
  expect(printed.join('')).toContain('MILLRACE_X is wrong.');
});
