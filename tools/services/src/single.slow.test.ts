import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';

import { expect, test } from 'vitest';

import { down, ensureUp, killNode, readEndpoints, startNode, stopNode, up } from './index.ts';
import { isPortFree } from './ports.ts';
import { commandLine, identify, runOrThrow } from './processes.ts';
import { elapsedMs } from './time.ts';
import { pidOf, createPrivateSite, states } from './private-site.ts';

const four = ['postgres', 'valkey', 'nats', 'restate'];

function psql(url: string, sql: string): Promise<string> {
  return runOrThrow('psql', [url, '-XAtqc', sql]);
}

test('`up` starts every engine, `status` reports killed nodes as dead, `up` restarts them with their data, `down` leaves no trace', async () => {
  const place = await createPrivateSite();
  const endpoints = await ensureUp(four, place);
  const allReady = { postgres: 'ready', valkey: 'ready', nats: 'ready', restate: 'ready' };
  expect(await states(place)).toMatchObject(allReady);
  expect(readEndpoints(place.stateDir)).toEqual(endpoints);

  const started = elapsedMs();
  const again = await up(four, place);
  expect(again.map((outcome) => outcome.result)).toEqual(['already', 'already', 'already', 'already']);
  expect(elapsedMs() - started).toBeLessThan(10_000);

  await psql(endpoints.postgresUrl, 'create table kept (n int); insert into kept values (7)');
  expect(await psql(endpoints.postgresUrl, 'show data_checksums')).toBe('on\n');
  let expected: Record<string, string> = allReady;
  for (const victim of four) {
    await killNode(victim, place);
    expected = { ...expected, [victim]: 'dead' };
    expect(await states(place)).toMatchObject(expected);
  }
  await ensureUp(four, place);
  expect(await states(place)).toMatchObject(allReady);
  expect(await psql(endpoints.postgresUrl, 'select n from kept')).toBe('7\n');

  const pids = await Promise.all(four.map((node) => pidOf(place, node)));
  expect(await down([], place)).toBe(4);
  expect(pids.map(identify)).toEqual([null, null, null, null]);
  for (let offset = 0; offset < 100; offset += 1) {
    expect(await isPortFree(place.portBase + offset), `port ${place.portBase + offset}`).toBe(true);
  }
  await down([], { ...place, purge: true });
  expect(() => statSync(place.stateDir)).toThrow(/ENOENT/u);
});

test('`up`: two concurrent calls start one set of processes', async () => {
  const place = await createPrivateSite();
  const outcomes = await Promise.all([up(['valkey', 'nats'], place), up(['nats', 'valkey'], place)]);
  expect(
    outcomes
      .flat()
      .map((outcome) => outcome.result)
      .toSorted(),
  ).toEqual(['already', 'already', 'started', 'started']);
});

test('`up --port-base auto`: concurrent sites get different ports, and calls for one folder get the same', async () => {
  const places = await Promise.all([createPrivateSite(), createPrivateSite(), createPrivateSite()]);
  const stateDirs = places.map((place) => place.stateDir);
  const all = [...stateDirs, ...stateDirs.slice(0, 1)];
  const endpoints = await Promise.all(
    all.map((stateDir) => ensureUp(['valkey'], { stateDir, portBase: 'auto' })),
  );
  const urls = endpoints.map(({ valkeyUrl }) => valkeyUrl);
  expect(new Set(urls).size).toBe(3);
  expect(urls.at(-1)).toBe(urls[0]);
});

test('`up` adopts a process whose record was lost instead of starting a second one', async () => {
  const place = await createPrivateSite();
  await ensureUp(['valkey'], place);
  const pid = await pidOf(place, 'valkey');
  rmSync(path.join(place.stateDir, 'run', 'valkey.json'));
  expect(await states(place)).toMatchObject({ valkey: 'running' });
  await ensureUp(['valkey'], place);
  expect(await pidOf(place, 'valkey')).toBe(pid);
  rmSync(path.join(place.stateDir, 'run', 'valkey.json'));
  expect(await down([], place)).toBe(1);
  expect(identify(pid)).toBeNull();
});

test('`up` and `down` ignore a record whose pid now belongs to another process', async () => {
  const place = await createPrivateSite();
  await ensureUp(['valkey'], place);
  await killNode('valkey', place);
  const innocent = spawn('sleep', ['60'], { stdio: 'ignore' });
  await once(innocent, 'spawn');
  const file = path.join(place.stateDir, 'run', 'valkey.json');
  const record: object = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...record, pid: innocent.pid }));
  expect(await states(place)).toMatchObject({ valkey: 'dead' });
  await ensureUp(['valkey'], place);
  await down([], place);
  expect(commandLine(innocent.pid ?? 0)).toBe('sleep 60');
  innocent.kill();
});

test('`up` names the process that holds a taken port', async () => {
  const place = await createPrivateSite();
  const server = createServer().listen(place.portBase + 10, '127.0.0.1');
  await once(server, 'listening');
  await expect(ensureUp(['valkey'], place)).rejects.toThrow(
    new RegExp(`Port ${place.portBase + 10}.*process ${process.pid}`, 'u'),
  );
  server.close();
  await once(server, 'close');
  await ensureUp(['valkey'], place);
});

test('`up` repeats an initialisation that was killed', async () => {
  const place = await createPrivateSite();
  const home = path.join(place.stateDir, 'postgres');
  mkdirSync(path.join(home, 'data.new'), { recursive: true });
  writeFileSync(path.join(home, 'data.new', 'PG_VERSION'), '15\n');
  const { postgresUrl } = await ensureUp(['postgres'], place);
  expect(await psql(postgresUrl, 'select 1')).toBe('1\n');
});

test('`up` reports an engine that cannot start with the end of its log and starts the others', async () => {
  const place = await createPrivateSite();
  await ensureUp(['postgres'], place);
  await down(['postgres'], place);
  rmSync(path.join(place.stateDir, 'postgres', 'data', 'global'), { recursive: true });
  const outcomes = await up(['postgres', 'valkey'], place);
  expect(outcomes.map((outcome) => outcome.result)).toEqual(['failed', 'started']);
  expect(outcomes[0]?.failure?.message).toMatch(/ended while it was starting/u);
  expect(outcomes[0]?.failure?.logTail).toMatch(/pg_control/u);
});

test('stopNode and startNode: stop and start one node for fault injection', async () => {
  const place = await createPrivateSite();
  await ensureUp(['nats'], place);
  await stopNode('nats', place);
  expect(await states(place)).toMatchObject({ nats: 'stopped' });
  await startNode('nats', place);
  expect(await states(place)).toMatchObject({ nats: 'ready' });
  await expect(killNode('nats-2', place)).rejects.toThrow(/does not run/u);
  await expect(killNode('mysql', place)).rejects.toThrow(/no node called mysql/u);
});

test('`up` works in a state folder with a long path that user postgres cannot enter', async () => {
  const place = await createPrivateSite();
  const hidden = path.join(path.dirname(place.stateDir), 'h'.repeat(120));
  mkdirSync(hidden, { mode: 0o700 });
  const deep = { ...place, stateDir: path.join(hidden, 's') };
  try {
    const { postgresUrl } = await ensureUp(['postgres', 'valkey'], deep);
    expect(await psql(postgresUrl, 'select 1')).toBe('1\n');
  } finally {
    await down([], { stateDir: deep.stateDir, purge: true });
  }
});
