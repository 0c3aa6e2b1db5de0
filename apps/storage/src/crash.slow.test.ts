import { execFile } from 'node:child_process';
import { appendFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { exportPath, type VolumeSpec } from '@millrace/storage';
import { eventually } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  outcomeOf,
  neverAborted,
  openIn,
  openStorageHarness,
  type StorageHarness,
} from './storage-node.fixture.ts';

const run = promisify(execFile);
let stage: StorageHarness;

beforeAll(async () => {
  stage = await openStorageHarness({ poolGb: 40, leaseSeconds: 4 });
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

const pidOf = ({ externalId }: VolumeSpec): number => {
  const pid = stage.node.serverPid(externalId);
  if (pid === null) throw new Error('The volume has no server.');
  return pid;
};

test('a server killed with SIGKILL is restarted without data loss, and clients reclaim open files', async () => {
  const { node } = stage;
  const spec = stage.spec({ clients: [node.client(0), node.client(1)] });
  await stage.ensure(spec);
  const identity = { owner: 'machine-1', verifier: Buffer.from('boot0001') };
  const before = await stage.machine(spec.vip, node.client(0), identity);
  const file = await openIn(before, 'held');
  await before.write(file, 0, 'before');
  const killed = pidOf(spec);
  process.kill(killed, 'SIGKILL');
  const after = await eventually({ what: 'the server to be back', timeoutMs: 20_000 }, () =>
    stage.machine(spec.vip, node.client(0), identity),
  );
  expect(pidOf(spec)).not.toBe(killed);
  const again = await after.reclaim(file.handle);
  expect(again.handle.equals(file.handle)).toBe(true);
  await after.write(again, 6, ' and after');
  expect(String(await after.read(again, 0, 50))).toBe('before and after');
  await after.reclaimComplete();
  const other = await stage.machine(spec.vip, node.client(1));
  expect(String(await other.read(await openIn(other, 'held'), 0, 50))).toBe('before and after');
  const outsider = await stage.machine(spec.vip, node.client(2));
  expect(await outcomeOf(outsider.lookup(exportPath))).toBe('NOENT');
  await eventually({ what: 'the agent to call it served' }, async () =>
    (await stage.backend.list(neverAborted)).some(
      (view) => view.externalId === spec.externalId && view.isServed,
    ),
  );
});

test('acknowledged writes survive repeated kills of the server', async () => {
  const { node } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  const identity = { owner: 'writer', verifier: Buffer.from('boot0001') };
  const record = (at: number): string => `record ${at}`.padEnd(512, '.');
  const first = await stage.machine(spec.vip, node.client(0), identity);
  const opened = await openIn(first, 'log');
  let [client, file, written] = [first, opened, 0];
  for (let round = 0; round < 3; round += 1) {
    const killed = pidOf(spec);
    // The kill happens while a write is in flight.
    const until = written + 20;
    for (; written < until; written += 1) await client.write(file, written * 512, record(written));
    const last = client.write(file, written * 512, record(written)).then(
      () => 1,
      () => 0,
    );
    process.kill(killed, 'SIGKILL');
    written += await last;
    client = await eventually({ what: 'the server to be back', timeoutMs: 20_000 }, () =>
      stage.machine(spec.vip, node.client(0), identity),
    );
    file = await client.reclaim(opened.handle);
    await client.reclaimComplete();
  }
  const text = String(await client.read(file, 0, written * 512));
  expect(text).toBe(Array.from({ length: written }, (_, at) => record(at)).join(''));
});

test('killing the agent disturbs no client, and the next agent adopts the running servers', async () => {
  const { node } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  const pid = pidOf(spec);
  const client = await stage.machine(spec.vip, node.client(0));
  const file = await openIn(client, 'file');
  await node.agent().crash();
  expect(await client.write(file, 0, 'without an agent')).toBe(16);
  await expect(stage.ensure(spec)).rejects.toMatchObject({ kind: 'unavailable' });
  await node.restart();
  expect(pidOf(spec)).toBe(pid);
  expect(await stage.backend.list(neverAborted)).toContainEqual({
    ...{ externalId: spec.externalId, sizeGb: 1, vip: spec.vip, clients: spec.clients },
    ...{ isServed: true, detail: null, snapshots: [] },
  });
  await stage.ensure({ ...spec, clients: [node.client(1)] });
  expect(pidOf(spec)).toBe(pid);
  expect(await outcomeOf(client.write(file, 0, 'no longer'))).not.toBe('ok');
  // The agent also supervises servers that it did not start.
  process.kill(pid, 'SIGKILL');
  await eventually({ what: 'the server to be back', timeoutMs: 20_000 }, () => pidOf(spec) !== pid);
});

test('all volumes are served again after a power failure, with unchanged file handles', async () => {
  const { node } = stage;
  const requests = [stage.spec({ clients: [node.client(0)] }), stage.spec({ clients: [node.client(0)] })];
  for (const spec of requests) await stage.ensure(spec);
  const stored = await Promise.all(
    requests.map(async (spec) => {
      const client = await stage.machine(spec.vip, node.client(0));
      const file = await openIn(client, 'file');
      await client.write(file, 0, spec.externalId);
      return { spec: spec, file };
    }),
  );
  await node.losePower();
  expect(node.serverPid(requests[0]?.externalId ?? '')).toBeNull();
  await node.restart();
  // In reverse order, so that each volume gets another device than before.
  for (const { spec, file } of stored.toReversed()) {
    await stage.ensure(spec);
    const client = await stage.machine(spec.vip, node.client(0));
    expect(String(await client.read(await openIn(client, 'file'), 0, 100))).toBe(spec.externalId);
    expect((await client.lookup(`${exportPath}/file`)).equals(file.handle)).toBe(true);
  }
});

test('file handles contain the UUID of their own file system, also on a reused device', async () => {
  const { node, backend } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  await backend.remove(spec.externalId, neverAborted);
  const next = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(next);
  const { stdout } = await run('xfs_admin', [
    '-u',
    path.join(node.pool, 'volumes', next.externalId, 'volume.img'),
  ]);
  const identity = stdout.replaceAll(/UUID = |[-\s]/g, '');
  const handle = await (await stage.machine(next.vip, node.client(0))).lookup(exportPath);
  expect(handle.toString('hex')).toContain(identity);
});

test('a snapshot has the content of one instant, is taken once, and can be removed twice', async () => {
  const { node, backend } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  const client = await stage.machine(spec.vip, node.client(0));
  const file = await openIn(client, 'file');
  await client.write(file, 0, 'then');
  const taken = await backend.snapshot(spec.externalId, 'monday', neverAborted);
  expect(taken.sizeBytes).toBeGreaterThan(0);
  await client.write(file, 0, 'now!');
  expect((await backend.snapshot(spec.externalId, 'monday', neverAborted)).sizeBytes).toBeGreaterThan(0);
  expect((await stage.ensure(spec)).snapshots).toEqual(['monday']);
  expect(await readSnapshot(spec.externalId, 'monday')).toBe('then');
  expect(String(await client.read(file, 0, 10))).toBe('now!');
  await backend.removeSnapshot(spec.externalId, 'monday', neverAborted);
  await backend.removeSnapshot(spec.externalId, 'monday', neverAborted);
  expect((await stage.ensure(spec)).snapshots).toEqual([]);
  await expect(backend.snapshot('no-such-volume', 'monday', neverAborted)).rejects.toMatchObject({
    kind: 'not_found',
  });
});

/** Reads `file` from the image of the snapshot. */
async function readSnapshot(volumeId: string, snapshotId: string): Promise<string> {
  const { folder, pool } = stage.node;
  const mount = path.join(folder, 'snapshot');
  await mkdir(mount, { recursive: true });
  const image = path.join(pool, 'volumes', volumeId, 'snapshots', `${snapshotId}.img`);
  // The image was frozen, so it needs no recovery; `nouuid` because its volume with the same UUID is mounted.
  await run('mount', ['-o', 'loop,ro,norecovery,nouuid', image, mount]);
  try {
    return await readFile(path.join(mount, 'file'), 'utf8');
  } finally {
    await run('umount', [mount]);
  }
}

test('an agent killed during a snapshot leaves no frozen volume and no partial snapshot', async () => {
  const { node, backend } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  const client = await stage.machine(spec.vip, node.client(0));
  const file = await openIn(client, 'file');
  await backend.snapshot(spec.externalId, 'whole', neverAborted);
  await node.agent().crash();
  const folder = path.join(node.pool, 'volumes', spec.externalId);
  await writeFile(path.join(folder, 'snapshots', 'half.img.new'), 'half');
  await run('fsfreeze', ['--freeze', path.join(folder, 'mount')]);
  const written = client.write(file, 0, 'waits');
  await node.restart();
  expect(await written).toBe(5);
  expect((await stage.ensure(spec)).snapshots).toEqual(['whole']);
});

test('a destroyed configuration is rewritten, and the server applies it', async () => {
  const { node } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  await writeFile(path.join(node.pool, 'volumes', spec.externalId, 'ganesha.conf'), 'EXPORT { Export_Id = ');
  process.kill(pidOf(spec), 'SIGHUP');
  await stage.ensure(spec);
  const client = await stage.machine(spec.vip, node.client(0));
  expect(await outcomeOf(client.lookup(exportPath))).toBe('ok');
  const outsider = await stage.machine(spec.vip, node.client(1));
  expect(await outcomeOf(outsider.lookup(exportPath))).toBe('NOENT');
});

test('the log of a server is rotated when it is too long, and the server keeps logging', async () => {
  const { node } = stage;
  const spec = stage.spec();
  await stage.ensure(spec);
  const log = path.join(node.pool, 'volumes', spec.externalId, 'ganesha.log');
  await appendFile(log, 'noise\n'.repeat(1_500_000));
  const what = 'the log to be rotated';
  const isShort = async (): Promise<true | undefined> =>
    (await stat(log).catch(() => ({ size: 0 }))).size < 1_048_576 ? true : undefined;
  await eventually({ what, timeoutMs: 20_000 }, isShort);
  await stage.ensure({ ...spec, clients: [node.client(0)] });
  expect(await readFile(log, 'utf8')).toContain('SIGHUP');
});

test('a removed volume leaves no data, address or devices, and can be removed again', async () => {
  const { node, backend } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  await backend.snapshot(spec.externalId, 'last', neverAborted);
  const client = await stage.machine(spec.vip, node.client(0));
  await openIn(client, 'file');
  await backend.remove(spec.externalId, neverAborted);
  await backend.remove(spec.externalId, neverAborted);
  expect((await backend.list(neverAborted)).map(({ externalId }) => externalId)).not.toContain(
    spec.externalId,
  );
  expect(node.serverPid(spec.externalId)).toBeNull();
  const { stdout } = await run('losetup', ['--list', '--noheadings', '--output', 'AUTOCLEAR,BACK-FILE']);
  // A device with autoclear may wait for a process that still has it mounted in another namespace.
  const devices = stdout.split('\n').filter((line) => line.trim().startsWith('0'));
  expect(devices.join('\n')).not.toContain(spec.externalId);
  await expect(stage.machine(spec.vip, node.client(0))).rejects.toThrow();
  // A new volume on the same address is empty.
  const next = { ...stage.spec({ clients: [node.client(0)] }), vip: spec.vip };
  await stage.ensure(next);
  const newcomer = await stage.machine(next.vip, node.client(0));
  expect(await outcomeOf(newcomer.lookup(`${exportPath}/file`))).toBe('NOENT');
});

test('a removal that a crash interrupted is completed by the next agent', async () => {
  const { node, backend } = stage;
  const spec = stage.spec();
  await stage.ensure(spec);
  await node.agent().crash();
  const file = path.join(node.pool, 'volumes', spec.externalId, 'volume.json');
  const record = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, JSON.stringify({ ...record, isLeaving: true }));
  await node.restart();
  await eventually({ what: 'the volume to be removed' }, async () =>
    (await backend.list(neverAborted)).every(({ externalId }) => externalId !== spec.externalId),
  );
  expect(node.serverPid(spec.externalId)).toBeNull();
});
