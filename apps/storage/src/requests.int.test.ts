import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { exportPath } from '@millrace/storage';
import { eventually, makeCertificate } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { outcomeOf, neverAborted, openStorageHarness } from './storage-node.fixture.ts';
import { openPool } from './pool.ts';

const stage = await openStorageHarness({ poolGb: 16 });

afterAll(() => stage[Symbol.asyncDispose]());

interface Raw {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string | Buffer;
  readonly cert?: string;
  readonly key?: string;
}

/** Sends a request that the real client never sends. Returns status and error kind, or 'no answer'. */
async function raw(options: Raw): Promise<string> {
  const { credential, endpoint } = stage.node;
  const { hostname, port } = new URL(endpoint);
  const identity = {
    cert: options.cert ?? (await readFile(credential.certificateFile, 'utf8')),
    key: options.key ?? (await readFile(credential.keyFile, 'utf8')),
  };
  return new Promise((resolve) => {
    const call = request(
      {
        ...{ hostname, port, method: options.method ?? 'GET', path: options.path ?? '/v1/volumes' },
        ...(options.cert === '' ? {} : identity),
        agent: false,
        rejectUnauthorized: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', () => resolve('no answer'));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const kind = text === '' ? '' : (JSON.parse(text).error?.kind ?? '');
          resolve(`${response.statusCode} ${kind}`.trim());
        });
      },
    );
    call.on('error', () => resolve('no answer'));
    call.end(options.body);
  });
}

test('the agent reports its health, release and pool', async () => {
  const { healthUrl } = stage.node;
  const report = async (path: string): Promise<unknown> => (await fetch(healthUrl + path)).json();
  expect(await report('/healthz')).toMatchObject({ live: true, version: expect.any(String) });
  const ready = { ready: true, checks: { pool: { ok: true } } };
  await expect.poll(() => report('/readyz'), { timeout: 120_000 }).toMatchObject(ready);
});

test('the agent accepts only the client certificates in its list', async () => {
  expect(await raw({})).toBe('200');
  expect(await raw({ cert: '' })).toBe('no answer');
  const outsider = await makeCertificate('worker');
  expect(await raw({ cert: outsider.certificate, key: outsider.key })).toBe('no answer');
  expect(await raw(await signedByWorker())).toBe('no answer');
});

/** A certificate that is signed by an accepted one and is not itself in the list. */
async function signedByWorker(): Promise<Required<Pick<Raw, 'cert' | 'key'>>> {
  const { certificateFile, keyFile } = stage.node.credential;
  const at = (name: string): string => path.join(stage.node.folder, name);
  const openssl = (...args: string[]) => promisify(execFile)('openssl', args);
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
  await openssl(
    'req',
    '-new',
    ...curve,
    '-subj',
    '/CN=guest',
    '-keyout',
    at('guest.key'),
    '-out',
    at('guest.csr'),
  );
  const signing = ['-CA', certificateFile, '-CAkey', keyFile, '-CAcreateserial', '-days', '1'];
  await openssl('x509', '-req', '-in', at('guest.csr'), ...signing, '-out', at('guest.crt'));
  return { cert: await readFile(at('guest.crt'), 'utf8'), key: await readFile(at('guest.key'), 'utf8') };
}

test('a pool has one agent, and must be on a file system that shares blocks', async () => {
  await expect(openPool(stage.node.pool)).rejects.toThrow('Another agent uses the pool');
  // tmpfs cannot share blocks.
  const folder = await mkdtemp('/dev/shm/millrace-');
  try {
    await expect(openPool(folder)).rejects.toThrow('cannot share blocks between files');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('the agent refuses malformed requests and keeps running', async () => {
  const spec = stage.spec({ clients: [stage.node.client(0)] });
  await stage.ensure(spec);
  const { externalId: _id, ...body } = spec;
  const put = (changes: object, id = 'fine'): Promise<string> =>
    raw({
      method: 'PUT',
      path: `/v1/volumes/${id}`,
      body: JSON.stringify({ ...body, vip: stage.node.vip(200), ...changes }),
    });
  for (const id of ['..', '%2e%2e', '.', 'UPPER', 'a_b', '-a', 'a'.repeat(64)])
    expect(await put({}, id), id).toBe('400 refused');
  for (const id of ['a/b', '', 'a'.repeat(65), '../../etc'])
    expect(await put({}, id), id).toBe('501 unsupported');
  const bad = [
    { sizeGb: 0 },
    { sizeGb: 1.5 },
    { sizeGb: -1 },
    { sizeGb: 1e9 },
    { sizeGb: '1' },
    { orgId: 'org_x' },
    { vip: '0.0.0.0' },
    { vip: '10.0.0.1' },
    { vip: `${stage.node.vip(200)};` },
    { vip: '127.0.0.1' },
    { clients: ['*'] },
    { clients: ['0.0.0.0'] },
    { clients: ['10.0.0.0/8'] },
    { clients: ['@everybody'] },
    { clients: ['host.example'] },
    { clients: ['10.0.0.1;} CLIENT { Clients = *'] },
    { clients: ['10.0.0.1\n*'] },
    { clients: ['010.0.0.1'] },
    { clients: ['255.255.255.255'] },
    { clients: ['::1'] },
    { clients: ['10.0.0.1', '10.0.0.1'] },
    { clients: ['127.254.0.1'] },
    { clients: [stage.node.vip(3)] },
    { clients: Array.from({ length: 5_000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`) },
    { clients: 'all' },
    { extra: 1 },
  ];
  for (const changes of bad)
    expect(await put(changes), JSON.stringify(changes).slice(0, 60)).toBe('400 refused');
  expect(await raw({ method: 'PUT', path: '/v1/volumes/fine', body: '{' })).toBe('400 refused');
  expect(await raw({ method: 'PUT', path: '/v1/volumes/fine', body: Buffer.alloc(3_000_000, 65) })).toMatch(
    /^(?:400 refused|no answer)$/,
  );
  expect(await raw({ method: 'POST', path: '/v1/volumes' })).toBe('501 unsupported');
  expect(await raw({ path: '/' })).toBe('501 unsupported');
  expect(await raw({ method: 'PUT', path: `/v1/volumes/${spec.externalId}/snapshots/..` })).toBe(
    '400 refused',
  );
  expect((await stage.backend.list(neverAborted)).map(({ externalId }) => externalId)).toEqual([
    spec.externalId,
  ]);
});

test('a volume keeps its organisation and address, and the node refuses more than it can hold', async () => {
  const spec = stage.spec();
  await stage.ensure(spec);
  const other = stage.spec();
  await expect(stage.ensure({ ...spec, orgId: other.orgId })).rejects.toMatchObject({ kind: 'conflict' });
  await expect(stage.ensure({ ...other, vip: spec.vip })).rejects.toMatchObject({ kind: 'conflict' });
  // If two volumes request the same address at once, one gets it.
  const both = [stage.spec({ vip: other.vip }), stage.spec({ vip: other.vip })];
  const outcomes = await Promise.allSettled(both.map((one) => stage.ensure(one)));
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  await expect(stage.ensure({ ...stage.spec(), sizeGb: 100 })).rejects.toMatchObject({ kind: 'no_capacity' });
  await expect(stage.ensure({ ...spec, sizeGb: 100 })).rejects.toMatchObject({ kind: 'no_capacity' });
});

test('a volume moves to another address with its data', async () => {
  const { node } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  await stage.ensure(spec);
  const moved = { ...spec, vip: node.vip(100) };
  expect(await stage.ensure(moved)).toMatchObject({ vip: moved.vip, isServed: true });
  expect(await outcomeOf((await stage.machine(moved.vip, node.client(0))).lookup(exportPath))).toBe('ok');
  await expect(stage.machine(spec.vip, node.client(0))).rejects.toThrow();
});

test('after many concurrent changes the server uses the list that the agent reports', async () => {
  const { node, backend } = stage;
  const spec = stage.spec();
  await stage.ensure(spec);
  const lists = Array.from({ length: 12 }, (_, at) => [node.client(at % 8)]);
  await Promise.all(lists.map((clients) => stage.ensure({ ...spec, clients })));
  const [view] = (await backend.list(neverAborted)).filter(
    ({ externalId }) => externalId === spec.externalId,
  );
  for (let at = 0; at < 8; at += 1) {
    const client = await stage.machine(spec.vip, node.client(at));
    const isListed = view?.clients.includes(node.client(at));
    expect(await outcomeOf(client.lookup(exportPath)), node.client(at)).toBe(isListed ? 'ok' : 'NOENT');
    await client.end();
  }
});

test('a spec that is older than the accepted one cannot re-admit a client', async () => {
  const { node } = stage;
  const spec = stage.spec();
  await stage.ensure({ ...spec, clients: [node.client(0)], sequence: 7 });
  await stage.ensure({ ...spec, clients: [], sequence: 8 });
  await expect(stage.ensure({ ...spec, clients: [node.client(0)], sequence: 7 })).rejects.toMatchObject({
    kind: 'busy',
    isFinal: false,
  });
  await node.agent().crash();
  await node.restart();
  await expect(stage.ensure({ ...spec, clients: [node.client(0)], sequence: 7 })).rejects.toMatchObject({
    kind: 'busy',
  });
  const client = await stage.machine(spec.vip, node.client(0));
  expect(await outcomeOf(client.lookup(exportPath))).toBe('NOENT');
  await stage.ensure({ ...spec, clients: [node.client(0)], sequence: 9 });
  expect(await outcomeOf(client.lookup(exportPath))).toBe('ok');
});

test('a volume whose address is in use is reported with the reason, and served once the address is free', async () => {
  const { node, backend } = stage;
  const spec = stage.spec({ clients: [node.client(0)] });
  const portHolder = createServer();
  await new Promise<void>((resolve) => {
    portHolder.listen(node.nfsPort, spec.vip, resolve);
  });
  const viewed = async () =>
    (await backend.list(neverAborted)).find(({ externalId }) => externalId === spec.externalId);
  try {
    const failure: unknown = await stage.ensure(spec).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'unavailable' });
    expect(await viewed()).toMatchObject({
      isServed: false,
      detail: expect.stringContaining('Error binding'),
    });
  } finally {
    portHolder.close();
  }
  await eventually(
    { what: 'the volume to be served', timeoutMs: 300_000 },
    async () => (await viewed())?.isServed,
  );
  const client = await stage.machine(spec.vip, node.client(0));
  expect(await outcomeOf(client.lookup(exportPath))).toBe('ok');
});

test('a volume without its image or record is reported and never created again', async () => {
  const { node, backend } = stage;
  const spec = stage.spec();
  await stage.ensure(spec);
  await node.losePower();
  const folder = path.join(node.pool, 'volumes', spec.externalId);
  await rm(path.join(folder, 'volume.img'));
  await node.restart();
  await expect(stage.ensure(spec)).rejects.toMatchObject({ kind: 'failed' });
  const viewed = async () =>
    (await backend.list(neverAborted)).find(({ externalId }) => externalId === spec.externalId);
  expect(await viewed()).toMatchObject({ isServed: false, detail: 'The image of the volume is missing.' });
  await writeFile(path.join(folder, 'volume.json'), '{"externalId":');
  expect(await viewed()).toMatchObject({ isServed: false, sizeGb: 0 });
  await expect(stage.ensure(spec)).rejects.toMatchObject({ isFinal: false });
});
