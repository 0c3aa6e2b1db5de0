import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import {
  identify,
  isAlive,
  killProcess,
  launchDaemon,
  parseProcStat,
  run,
  signal,
  stopProcess,
} from './processes.ts';
import { eventually } from './time.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'mr-proc-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function ownIdentity() {
  const identity = identify(process.pid);
  if (identity === null) throw new Error('this process cannot see itself');
  return identity;
}

test('parseProcStat: reads a process name with brackets and spaces', () => {
  const rest = `S 7 ${Array.from({ length: 17 }, (_, index) => index).join(' ')} 98765 1 2`;
  expect(parseProcStat(`42 (we) ird (name)) ${rest}`)).toEqual({
    state: 'S',
    parent: 7,
    startTicks: '98765',
  });
  expect(parseProcStat('rubbish')).toBeNull();
});

test('isAlive and signal: reject a pid that now belongs to another process', async () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const now = identify(child.pid ?? 0);
  expect(now).not.toBeNull();
  const earlier = { ...ownIdentity(), pid: child.pid ?? 0, startTicks: '1' };
  const otherBoot = { ...ownIdentity(), ...now, bootId: 'another' };
  for (const outsider of [earlier, otherBoot]) {
    expect(isAlive(outsider)).toBe(false);
    expect(signal(outsider, 'SIGKILL')).toBe(false);
    await expect(stopProcess(outsider, { signal: 'SIGKILL', timeoutMs: 100 })).resolves.toBe('stopped');
  }
  expect(child.exitCode).toBeNull();
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(identify(child.pid ?? 0)).toBeNull();
});

test('identify: treats a zombie as dead', async () => {
  // The child ends after the shell became a program that never waits for children.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  await eventually({ timeoutMs: 5000, intervalMs: 10 }, async () => {
    if (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')) throw new Error('not yet');
  });
  expect(identify(pid)).toBeNull();
  parent.kill('SIGKILL');
  await once(parent, 'exit');
});

test('launchDaemon: writes to the log, passes the environment, and stopProcess stops it', async () => {
  const log = path.join(folder, 'd.log');
  const identity = await launchDaemon(
    { file: 'sh', args: ['-c', 'echo "$GREETING"; exec sleep 60'], env: { GREETING: 'hello' } },
    log,
  );
  await eventually({ timeoutMs: 5000, intervalMs: 10 }, async () => {
    expect(readFileSync(log, 'utf8')).toBe('hello\n');
  });
  expect(isAlive(identity)).toBe(true);
  await expect(stopProcess(identity, { signal: 'SIGTERM', timeoutMs: 5000 })).resolves.toBe('stopped');
  expect(isAlive(identity)).toBe(false);
});

test('stopProcess: kills a daemon that ignores the signal after the time limit', async () => {
  const args = ['-c', 'trap "" TERM; echo on; while :; do sleep 0.05; done'];
  const log = path.join(folder, 'd.log');
  const identity = await launchDaemon({ file: 'sh', args }, log);
  await eventually({ timeoutMs: 5000, intervalMs: 10 }, async () => {
    expect(readFileSync(log, 'utf8')).toBe('on\n');
  });
  await expect(stopProcess(identity, { signal: 'SIGTERM', timeoutMs: 50 })).resolves.toBe('killed');
  await expect(killProcess(identity)).resolves.toBeUndefined();
});

test('launchDaemon: a program that does not exist exits at once and is named in the log', async () => {
  const log = path.join(folder, 'd.log');
  const identity = await launchDaemon({ file: '/no/such', args: [] }, log).catch(() => null);
  await eventually({ timeoutMs: 5000, intervalMs: 10 }, async () => {
    if (identity !== null && isAlive(identity)) throw new Error('still there');
    expect(readFileSync(log, 'utf8')).toContain('/no/such');
  });
  await expect(run('/no/such', [])).resolves.toMatchObject({ code: 127 });
});

test("launchDaemon: other users can read the daemon's files whatever the caller's umask", async () => {
  const file = path.join(folder, 'made');
  const launch = { file: 'sh', args: ['-c', `: > ${file}; exec sleep 60`] };
  const before = process.umask(0o077);
  const started = launchDaemon(launch, path.join(folder, 'd.log'));
  process.umask(before);
  const identity = await started;
  await eventually({ timeoutMs: 5000, intervalMs: 10 }, async () => {
    expect(statSync(file).mode & 0o777).toBe(0o644);
  });
  await killProcess(identity);
});
