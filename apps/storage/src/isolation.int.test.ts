import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { connect, type TcpNetConnectOpts } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@millrace/platform/clock';
import { exportPath } from '@millrace/storage';
import { anonymousStateid } from '@millrace/storage/nfs41';
import { createRandom, type Random } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { outcomeOf, openIn, openStorageHarness, statusOf } from './storage-node.fixture.ts';

// Attacks real servers with an NFS client that can forge addresses, handles and calls.

const run = promisify(execFile);

const stage = await openStorageHarness();

afterAll(() => stage[Symbol.asyncDispose]());

test('two attached machines share files, each from its own address', async () => {
  const { node } = stage;
  const spec = stage.spec({ clients: [node.client(0), node.client(1)] });
  const { externalId, sizeGb, vip, clients } = spec;
  expect(await stage.ensure(spec)).toEqual({
    ...{ externalId, sizeGb, vip, clients },
    ...{ isServed: true, detail: null, snapshots: [], restored: [] },
  });
  const writer = await stage.machine(spec.vip, node.client(0));
  const reader = await stage.machine(spec.vip, node.client(1));
  const file = await openIn(writer, 'shared');
  await writer.write(file, 0, 'from the first machine');
  const seen = await openIn(reader, 'shared');
  expect(String(await reader.read(seen, 0, 100))).toBe('from the first machine');
  expect(await reader.size(seen.handle)).toBe(22n);
});

test('the server refuses a machine that is not or no longer attached, and keeps serving the others', async () => {
  const { node } = stage;
  const [first, second] = [node.client(0), node.client(1)];
  const spec = stage.spec({ clients: [first] });
  await stage.ensure(spec);
  const inside = await stage.machine(spec.vip, first);
  const file = await openIn(inside, 'kept');
  const outside = await stage.machine(spec.vip, second);
  expect(await outcomeOf(outside.lookup(exportPath))).toBe('NOENT');
  // Handle and stateid of an open file are useless from another address.
  expect(await outcomeOf(outside.read(file, 0, 10))).toMatch(/^(?:ACCESS|STALE|BAD_STATEID|NOENT)$/);
  expect(await outcomeOf(outside.write({ ...file, stateid: anonymousStateid }, 0, 'x'))).not.toBe('ok');

  await stage.ensure({ ...spec, clients: [first, second] });
  const held = await openIn(outside, 'held');
  expect(await outside.write(held, 0, 'while attached')).toBe(14);

  await stage.ensure({ ...spec, clients: [first] });
  expect(await outcomeOf(outside.lookup(exportPath))).toBe('NOENT');
  expect(await outcomeOf(outside.write(held, 0, 'after'))).toMatch(/^(?:ACCESS|STALE|NOENT)$/);
  expect(await outcomeOf(outside.read(held, 0, 5))).toMatch(/^(?:ACCESS|STALE|NOENT)$/);
  // Other clients are not affected.
  expect(await inside.write(file, 0, 'undisturbed')).toBe(11);
  expect(String(await inside.read(await openIn(inside, 'held'), 0, 50))).toBe('while attached');

  await stage.ensure({ ...spec, clients: [] });
  expect(await outcomeOf(inside.write(file, 0, 'x'))).toMatch(/^(?:ACCESS|STALE|NOENT)$/);
});

test('file handles of another volume open nothing, whole or in parts', async () => {
  const { node } = stage;
  const [victim, attacker] = [node.client(2), node.client(3)];
  const theirs = stage.spec({ clients: [victim] });
  const own = stage.spec({ clients: [attacker] });
  await Promise.all([stage.ensure(theirs), stage.ensure(own)]);
  const owner = await stage.machine(theirs.vip, victim);
  const secret = await openIn(owner, 'secret');
  await owner.write(secret, 0, 'the secret of another tenant');

  const client = await stage.machine(own.vip, attacker);
  const mine = await openIn(client, 'secret');
  await client.write(mine, 0, 'my own');
  expect(mine.handle.length).toBe(secret.handle.length);
  const responses = new Map<string, number>();
  const forge = async (handle: Buffer): Promise<void> => {
    const response = await client.read({ handle, stateid: anonymousStateid }, 0, 100).then(
      (data) => `read ${String(data)}`,
      (error: Error) => (error.name === 'NfsError' ? 'refused' : `broke: ${error.message}`),
    );
    responses.set(response, (responses.get(response) ?? 0) + 1);
  };
  for (let from = 0; from < mine.handle.length; from += 1) {
    for (let to = from + 1; to <= mine.handle.length; to += 1) {
      const forged = Buffer.from(mine.handle);
      secret.handle.copy(forged, from, from, to);
      await forge(forged);
    }
  }
  for (const handle of [Buffer.alloc(0), Buffer.alloc(128, 0xff), secret.handle.subarray(0, 5)])
    await forge(handle);
  // Both volumes use the same inode numbers, so some forged handles open the attacker's own file.
  const others = [...responses.keys()].filter(
    (response) => response !== 'refused' && response !== 'read my own',
  );
  expect(others).toEqual([]);
  expect(responses.get('refused')).toBeGreaterThan(0);

  const intruder = await stage.machine(theirs.vip, attacker);
  expect(await outcomeOf(intruder.lookup(exportPath))).toBe('NOENT');
  expect(await outcomeOf(intruder.read({ ...secret, stateid: anonymousStateid }, 0, 100))).not.toBe('ok');
  expect(String(await owner.read(secret, 0, 100))).toBe('the secret of another tenant');
});

test('the servers of two volumes have different names', async () => {
  const { node } = stage;
  const names = await Promise.all(
    [0, 1].map(async () => {
      const spec = stage.spec({ clients: [node.client(0)] });
      await stage.ensure(spec);
      return (await stage.machine(spec.vip, node.client(0))).serverName;
    }),
  );
  expect(new Set(names).size).toBe(2);
});

test('nothing above the volume can be written or traversed', async () => {
  const spec = stage.spec({ clients: [stage.node.client(0)] });
  await stage.ensure(spec);
  const client = await stage.machine(spec.vip, stage.node.client(0));
  await client.reclaimComplete();
  expect(await outcomeOf(client.open('/', 'file', true))).not.toBe('ok');
  for (const path of ['/..', `${exportPath}/..`, '/etc', `${exportPath}/../etc`])
    expect(await outcomeOf(client.lookup(path)), path).not.toBe('ok');
});

test('writing past the size fails, growing works with open files, and shrinking is refused', async () => {
  const { node } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  const client = await stage.machine(spec.vip, node.client(0));
  const file = await openIn(client, 'big');
  const block = Buffer.alloc(1_048_576, 7);
  const fill = async (from: number, to: number): Promise<{ at: number; outcome: string }> => {
    for (let at = from; at < to; at += 1) {
      const outcome = await outcomeOf(client.write(file, at * block.length, block));
      if (outcome !== 'ok') return { at, outcome };
    }
    return { at: to, outcome: 'ok' };
  };
  // Allocate most of the space, so that the client fills the rest quickly.
  const taken = path.join(node.pool, 'volumes', spec.externalId, 'mount', 'taken');
  await run('fallocate', ['--length', '850MiB', taken]);
  const full = await fill(0, 1_024 - 850);
  expect(full.outcome).toBe('NOSPC');
  expect(full.at).toBeGreaterThan(10);

  expect(await stage.ensure({ ...spec, sizeGb: 2 })).toMatchObject({ sizeGb: 2, isServed: true });
  expect(await fill(full.at, full.at + 64)).toEqual({ at: full.at + 64, outcome: 'ok' });
  expect((await client.read(file, 0, 16)).equals(block.subarray(0, 16))).toBe(true);
  await expect(stage.ensure(spec)).rejects.toMatchObject({ kind: 'refused' });
  // Growing is idempotent.
  expect(await stage.ensure({ ...spec, sizeGb: 2 })).toMatchObject({ sizeGb: 2 });
});

test('random bytes sent to a server damage neither its volume nor other volumes', async () => {
  const { node } = stage;
  const [spec, other] = [
    stage.spec({ clients: [node.client(0)] }),
    stage.spec({ clients: [node.client(1)] }),
  ];
  await Promise.all([stage.ensure(spec), stage.ensure(other)]);
  const writer = await stage.machine(spec.vip, node.client(0));
  await writer.write(await openIn(writer, 'file'), 0, 'whole');
  const otherClient = await stage.machine(other.vip, node.client(1));
  const watched = await openIn(otherClient, 'file');
  const random = createRandom(8);
  // From an attached and an unattached machine.
  for (let round = 0; round < 60; round += 1) {
    const from = node.client(round % 2 === 0 ? 0 : 5);
    await throwAt({ host: spec.vip, port: node.nfsPort, localAddress: from }, nonsense(random));
  }
  expect(await otherClient.write(watched, 0, 'undisturbed')).toBe(11);
  await stage.ensure(spec);
  const reader = await stage.machine(spec.vip, node.client(0));
  expect(String(await reader.read(await openIn(reader, 'file'), 0, 10))).toBe('whole');
  const outsider = await stage.machine(spec.vip, node.client(5));
  expect(await outcomeOf(outsider.lookup(exportPath))).toBe('NOENT');
});

test('the name of a client is stored only in the recovery folder of its server', async () => {
  // The test has its own node, since on a shared node the servers of other volumes may write files at any time.
  await using own = await openStorageHarness();
  const { node } = own;
  const spec = own.spec({ clients: [node.client(0)] });
  await own.ensure(spec);
  const folder = path.join(node.pool, 'volumes', spec.externalId);
  const beside = async (): Promise<readonly string[]> => {
    const all = await readdir(node.folder, { recursive: true });
    const expected = [path.relative(node.folder, path.join(folder, 'recovery')), path.join('mount', 'file')];
    return all.filter((name) => !expected.some((part) => name.includes(part))).toSorted();
  };
  const before = await beside();
  const up = `${'../'.repeat(12)}${node.folder.slice(1)}`;
  for (const owner of ['..', '../x', `${up}/x`, `/${up}/x`, `a/${up}/x`, 'x"; }', 'x'.repeat(1_000)]) {
    // No client destroys its session, so the server remembers all of them.
    await openIn(await own.machine(spec.vip, node.client(0), { owner }), 'file');
  }
  expect((await readdir(path.join(folder, 'recovery'), { recursive: true })).length).toBeGreaterThan(7);
  expect((await beside()).filter((name) => !before.includes(name))).toEqual([]);
  await own.ensure({ ...spec, clients: [node.client(0), node.client(1)] });
});

test('the server speaks only NFSv4.1 and later, and no other protocol', async () => {
  const { node } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  const target = { host: spec.vip, port: node.nfsPort, localAddress: node.client(0) };
  const [accepted, noProgram, noVersion, otherMinorVersion] = [0, 1, 2, 10_021];
  const [nfs, mount, locks, quota] = [100_003, 100_005, 100_021, 100_011];
  expect((await callAt(target, [nfs, 2, 0]))[0]).toBe(noVersion);
  expect((await callAt(target, [nfs, 3, 0]))[0]).toBe(noVersion);
  for (const [program, version] of [
    [mount, 3],
    [locks, 4],
    [quota, 1],
  ] as const)
    expect((await callAt(target, [program, version, 0]))[0], `${program}`).toBe(noProgram);
  // A COMPOUND without a tag, with minor version 0, that asks for the root.
  expect(await callAt(target, [nfs, 4, 1], [0, 0, 1, 24])).toEqual([accepted, otherMinorVersion, 0, 0]);
});

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => bytes.writeUInt32BE(value >>> 0, 4 * at));
  return bytes;
}

/** Calls a procedure without credentials and returns the accept status and the results. */
async function callAt(
  target: TcpNetConnectOpts,
  [program, version, procedure]: readonly [number, number, number],
  args: readonly number[] = [],
): Promise<readonly number[]> {
  const call = words(7, 0, 2, program, version, procedure, 0, 0, 0, 0, ...args);
  const socket = connect(target);
  try {
    socket.write(Buffer.concat([words(call.length | 0x8000_0000), call]));
    let response = Buffer.alloc(0);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      response = Buffer.concat([response, chunk]);
      if (response.length >= 4 && response.length >= 4 + (response.readUInt32BE() & 0x7fff_ffff)) break;
    }
    // Skip the record mark, the xid, the message type, the reply status and an empty verifier.
    const payload = response.subarray(4 + 5 * 4);
    return Array.from({ length: payload.length >> 2 }, (_none, at) => payload.readUInt32BE(4 * at));
  } finally {
    socket.destroy();
  }
}

/** Random bytes, an almost valid call, or a call with wrong lengths. */
function nonsense(random: Random): Buffer {
  const word = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value >>> 0);
    return bytes;
  };
  const noise = Buffer.from(Array.from({ length: random.int(0, 400) }, () => random.int(0, 255)));
  const mark = random.pick([noise.length, 0x7fff_ffff, 0, 1, 1_048_576]);
  const head = [
    random.int(1, 9),
    0,
    2,
    100_003,
    4,
    1,
    1,
    24,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    1,
    random.int(0, 70),
  ];
  const call = Buffer.concat([...head.map(word), noise]);
  return random.pick([
    noise,
    Buffer.concat([word(mark | 0x8000_0000), noise]),
    Buffer.concat([word(call.length | 0x8000_0000), call]),
    Buffer.concat([word(random.int(0, 0xffff) | 0x8000_0000), call]),
  ]);
}

/** Sends the bytes, waits briefly for a response and disconnects. */
async function throwAt(target: TcpNetConnectOpts, bytes: Buffer): Promise<void> {
  const socket = connect(target);
  const ended = new Promise<void>((resolve) => {
    socket.on('error', () => resolve());
    socket.on('close', () => resolve());
  });
  socket.on('data', () => {});
  socket.write(bytes);
  await Promise.race([ended, systemClock.sleep(15)]);
  socket.destroy();
}

test('the server process has only the capabilities and memory that serving files needs', async () => {
  const spec = stage.spec();
  await stage.ensure(spec);
  const pid = stage.node.serverPid(spec.externalId);
  if (pid === null) throw new Error('The volume has no server.');
  const status = await statusOf(pid);
  const serving = ['chown', 'dac_override', 'dac_read_search', 'fowner', 'fsetid', 'setgid', 'setuid'];
  const numbers = {
    chown: 0,
    dac_override: 1,
    dac_read_search: 2,
    fowner: 3,
    fsetid: 4,
    setgid: 6,
    setuid: 7,
  };
  const mask = serving.reduce((sum, name) => sum | (1n << BigInt(numbers[name as keyof typeof numbers])), 0n);
  for (const set of ['CapPrm', 'CapEff', 'CapBnd'])
    expect(BigInt(`0x${status.get(set)}`) & ~mask, set).toBe(0n);
  expect(status.get('NoNewPrivs')).toBe('1');
  const limits = await readFile(`/proc/${pid}/limits`, 'utf8');
  expect(limits).toMatch(/^Max data size +2147483648 +2147483648 /m);
  expect(limits).toMatch(/^Max core file size +0 +0 /m);
});
