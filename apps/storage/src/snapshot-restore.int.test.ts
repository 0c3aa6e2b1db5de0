import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { exportPath, type VolumeSpec } from '@millrace/storage';
import type { Nfs41Client } from '@millrace/storage/nfs41';
import { eventually, testIds } from '@millrace/testing';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { outcomeOf, neverAborted, openIn, openStorageHarness } from './storage-node.fixture.ts';

const run = promisify(execFile);

const stage = await openStorageHarness({ poolGb: 40, leaseSeconds: 4 });

afterAll(() => stage[Symbol.asyncDispose]());

const chunkBytes = 65_536;
const chunks = 24;

async function write(client: Nfs41Client, data: Buffer): Promise<void> {
  const file = await openIn(client, 'data');
  for (let at = 0; at < data.length; at += chunkBytes)
    await client.write(file, at, data.subarray(at, at + chunkBytes));
  await client.close(file);
}

async function read(client: Nfs41Client): Promise<Buffer> {
  const file = await openIn(client, 'data');
  const buffers: Buffer[] = [];
  for (let at = 0; at < chunks * chunkBytes; at += chunkBytes)
    buffers.push(await client.read(file, at, chunkBytes));
  await client.close(file);
  return Buffer.concat(buffers);
}

async function contentOf(spec: VolumeSpec): Promise<Buffer> {
  await stage.ensure({ ...spec, clients: [stage.node.client(0)] });
  return asMachine(spec, read);
}

/** Retries if the client stalled for longer than its lease, because the server then closes the file. */
async function asMachine<T>({ vip }: VolumeSpec, work: (client: Nfs41Client) => Promise<T>): Promise<T> {
  const done = await eventually(
    { what: 'a machine to read or write its file', timeoutMs: 300_000 },
    async () => ({
      result: await work(await stage.machine(vip, stage.node.client(0))),
    }),
  );
  return done.result;
}

/** Creates a volume that contains `fresh` and whose snapshot contains `old`. No client may mount it. */
async function makeVolume(changes: Partial<VolumeSpec> = {}) {
  const spec = stage.spec(changes);
  const [old, fresh] = [randomBytes(chunks * chunkBytes), randomBytes(chunks * chunkBytes)];
  await stage.ensure({ ...spec, clients: [stage.node.client(0)] });
  await asMachine(spec, (client) => write(client, old));
  const snapshotId = randomUUID();
  await stage.backend.snapshot(spec.externalId, snapshotId, neverAborted);
  await asMachine(spec, (client) => write(client, fresh));
  await stage.ensure(spec);
  const order = () => ({ id: randomUUID(), volumeId: spec.externalId, snapshotId });
  return { spec: spec, old, fresh, snapshotId, order };
}

const folderOf = ({ externalId }: VolumeSpec): string => path.join(stage.node.pool, 'volumes', externalId);
const recordOf = async (spec: VolumeSpec): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(path.join(folderOf(spec), 'volume.json'), 'utf8'));

test('a volume with snapshots is mounted again after a power failure, also with small sectors', async () => {
  const { spec, fresh } = await makeVolume();
  await stage.node.losePower();
  await stage.node.restart();
  expect((await contentOf(spec)).equals(fresh)).toBe(true);
  // An older image with 512-byte sectors whose blocks are shared, which need larger device sectors.
  await stage.node.losePower();
  const image = path.join(folderOf(spec), 'volume.img');
  await run('rm', [image]);
  await run('truncate', ['-s', '1G', image]);
  await run('mkfs.xfs', ['-q', '-K', '-s', 'size=512', image]);
  await run('cp', ['--reflink=always', image, `${image}.shared`]);
  await stage.node.restart();
  expect(await stage.ensure(spec)).toMatchObject({ isServed: true });
});

test('restoring into a new volume copies the snapshot byte for byte and leaves its source unchanged', async () => {
  const { spec, old, fresh, order } = await makeVolume();
  const restore = order();
  const copy = stage.spec({ orgId: spec.orgId, sizeGb: 2, restore });
  expect(await stage.ensure(copy)).toMatchObject({ sizeGb: 2, isServed: true, restored: [restore.id] });
  expect((await contentOf(copy)).equals(old)).toBe(true);
  expect((await contentOf(spec)).equals(fresh)).toBe(true);
  // The copy was grown to its own size.
  expect((await stat(path.join(folderOf(copy), 'volume.img'))).size).toBe(2 * 1_073_741_824);
});

test('a restored volume refuses file handles of the volume that the snapshot was taken of', async () => {
  const { spec, order } = await makeVolume();
  const copy = stage.spec({ orgId: spec.orgId, restore: order() });
  const clients = [stage.node.client(0)];
  await stage.ensure({ ...copy, clients });
  await stage.ensure({ ...spec, clients });
  const original = await openIn(await stage.machine(spec.vip, stage.node.client(0)), 'data');
  const client = await stage.machine(copy.vip, stage.node.client(0));
  expect(await outcomeOf(client.size(original.handle))).toMatch(/^(?:STALE|BADHANDLE)$/);
});

test('restoring in place restores every byte once and keeps the grown size', async () => {
  const { spec, old, order } = await makeVolume();
  const grown = { ...spec, sizeGb: 2 };
  await stage.ensure(grown);
  const restore = order();
  expect(await stage.ensure({ ...grown, restore })).toMatchObject({ sizeGb: 2, restored: [restore.id] });
  expect((await contentOf(grown)).equals(old)).toBe(true);
  // Repeating the same restore, as after a lost response, keeps later writes.
  const later = randomBytes(chunks * chunkBytes);
  await asMachine(spec, (client) => write(client, later));
  expect(await stage.ensure({ ...grown, restore })).toMatchObject({ restored: [restore.id] });
  expect((await contentOf(grown)).equals(later)).toBe(true);
  expect((await stat(path.join(folderOf(grown), 'volume.img'))).size).toBe(2 * 1_073_741_824);
  // A new restore id restores again.
  await stage.ensure({ ...grown, restore: order() });
  expect((await contentOf(grown)).equals(old)).toBe(true);
});

test('a volume is restored in place while another mount namespace still has the old file system mounted', async () => {
  const { spec, old, order } = await makeVolume();
  const program = spawn('unshare', ['--mount', '--propagation', 'private', 'sleep', 'infinity']);
  const ended = new Promise((resolve) => program.once('exit', resolve));
  onTestFinished(async () => {
    program.kill('SIGKILL');
    await ended;
  });
  const mount = path.join(folderOf(spec), 'mount');
  await eventually({ what: 'the mounts of the program' }, async () => {
    // Until `unshare` has run, the program is in the mount namespace of this process.
    const [here, there] = await Promise.all(
      ['self', program.pid ?? 0].map((pid) => readlink(`/proc/${pid}/ns/mnt`)),
    );
    return here !== there;
  });
  const restore = order();
  expect(await stage.ensure({ ...spec, restore })).toMatchObject({ isServed: true, restored: [restore.id] });
  expect(await readFile(`/proc/${program.pid}/mountinfo`, 'utf8')).toContain(mount);
  expect((await contentOf(spec)).equals(old)).toBe(true);
});

test('clients that were attached before are refused after a restore in place', async () => {
  const { spec, order } = await makeVolume();
  const clients = [stage.node.client(0)];
  await stage.ensure({ ...spec, clients });
  const before = await stage.machine(spec.vip, stage.node.client(0));
  await openIn(before, 'data');
  await stage.ensure({ ...spec, restore: order() });
  const after = await stage.machine(spec.vip, stage.node.client(0));
  expect(await outcomeOf(after.lookup(exportPath))).toBe('NOENT');
});

test('a spec without the restore cancels an unfinished one, and the content stays', async () => {
  const { spec, fresh, snapshotId } = await makeVolume();
  const snapshot = path.join(folderOf(spec), 'snapshots', `${snapshotId}.img`);
  // The copy fails because the snapshot is a folder.
  await run('mv', [snapshot, `${snapshot}.aside`]);
  await mkdir(path.join(snapshot, 'x'), { recursive: true });
  const restore = { id: randomUUID(), volumeId: spec.externalId, snapshotId };
  await expect(stage.ensure({ ...spec, restore })).rejects.toMatchObject({ kind: 'failed' });
  expect(await recordOf(spec)).toMatchObject({ restore });
  const [view] = (await stage.backend.list(neverAborted)).filter(
    ({ externalId }) => externalId === spec.externalId,
  );
  expect(view).toMatchObject({ restored: [] });
  await run('rm', ['-r', snapshot]);
  await run('mv', [`${snapshot}.aside`, snapshot]);
  expect(await stage.ensure(spec)).toMatchObject({ isServed: true, restored: [] });
  expect((await contentOf(spec)).equals(fresh)).toBe(true);
});

test('a committed restore is completed after a crash, and an uncommitted one is deleted', async () => {
  const decided = await makeVolume();
  const undecided = await makeVolume();
  await stage.node.agent().crash();
  const id = randomUUID();
  for (const { spec, snapshotId } of [decided, undecided]) {
    const folder = folderOf(spec);
    await mkdir(path.join(folder, 'restores'), { mode: 0o700 });
    const snapshot = path.join(folder, 'snapshots', `${snapshotId}.img`);
    await run('cp', ['--reflink=always', snapshot, path.join(folder, 'restores', `${id}.img`)]);
  }
  const record = { ...(await recordOf(decided.spec)), restored: [id] };
  await writeFile(path.join(folderOf(decided.spec), 'volume.json'), JSON.stringify(record));
  await stage.node.restart();
  expect((await contentOf(decided.spec)).equals(decided.old)).toBe(true);
  expect((await contentOf(undecided.spec)).equals(undecided.fresh)).toBe(true);
});

test('an agent killed at any point of a restore leaves the old or the new content, and repeating the spec completes it', async () => {
  const { spec, old, order } = await makeVolume();
  for (const afterMs of [5, 60, 200]) {
    const [restore, copy] = [order(), stage.spec({ orgId: spec.orgId, restore: order() })];
    const orders = [stage.ensure({ ...spec, restore }), stage.ensure(copy)];
    const settled = Promise.allSettled(orders);
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await stage.node.agent().crash();
    await settled;
    await stage.node.restart();
    for (const one of [{ ...spec, restore }, copy]) {
      const again = () => stage.ensure(one).catch(() => undefined);
      await eventually({ what: 'the spec to be applied', timeoutMs: 300_000 }, again);
      expect((await contentOf(one)).equals(old), `killed after ${afterMs} ms`).toBe(true);
    }
    await stage.backend.remove(copy.externalId, neverAborted);
  }
  const { stdout } = await run('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE']);
  expect(
    stdout.split('\n').filter((file) => file.startsWith(stage.node.pool) && file.includes('restores')),
  ).toEqual([]);
});

test('restoring an absent, foreign or too large snapshot is refused and creates no volume', async () => {
  const { spec, order } = await makeVolume({ sizeGb: 2 });
  const copy = stage.spec({ orgId: spec.orgId, sizeGb: 2 });
  const refused = { kind: 'refused', isFinal: true };
  const absent = { ...order(), snapshotId: randomUUID() };
  await expect(stage.ensure({ ...copy, restore: absent })).rejects.toMatchObject(refused);
  const nowhere = { ...order(), volumeId: randomUUID() };
  await expect(stage.ensure({ ...copy, restore: nowhere })).rejects.toMatchObject(refused);
  const foreign = { ...copy, orgId: testIds.next('org'), restore: order() };
  await expect(stage.ensure(foreign)).rejects.toMatchObject(refused);
  await expect(stage.ensure({ ...copy, sizeGb: 1, restore: order() })).rejects.toMatchObject(refused);
  expect((await stage.backend.list(neverAborted)).map(({ externalId }) => externalId)).not.toContain(
    copy.externalId,
  );
});
