import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SimulatedClock, systemClock } from '@millrace/platform/clock';
import { makeCertificate, startProtocolRecorder, testIds, testLog } from '@millrace/testing';
import { afterAll, afterEach, expect, it, test } from 'vitest';
import { createAgentBackend } from './agent-backend.ts';
import type { VolumeBackend } from './backend.ts';
import { connectVolumeBackend } from './connect.ts';

// Responses are untrusted: a malformed one must never count as an answer about a volume.

let respond: (request: IncomingMessage, response: ServerResponse) => void;
const opened: VolumeBackend[] = [];
const never = new AbortController().signal;
const spec = {
  externalId: 'vol-1',
  orgId: testIds.next('org'),
  sizeGb: 1,
  vip: '10.8.0.10',
  clients: ['10.9.0.1'],
};
const view = {
  ...{ externalId: 'vol-1', sizeGb: 1, vip: spec.vip, clients: spec.clients },
  ...{ isServed: true, detail: null, snapshots: [], restored: [] },
};

const [agent, worker] = await Promise.all([makeCertificate('agent'), makeCertificate('worker')]);
const server = createServer(
  { cert: agent.certificate, key: agent.key, ca: worker.certificate, requestCert: true },
  (request, response) => respond(request, response),
);
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});

afterEach(() => Promise.all(opened.splice(0).map((backend) => backend.close())));

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function open(
  serverCertificate = agent.certificate,
  clock = systemClock as typeof systemClock | SimulatedClock,
): VolumeBackend {
  const { port } = server.address() as AddressInfo;
  const tls = { clientCertificate: worker.certificate, clientKey: worker.key, serverCertificate };
  const backend = createAgentBackend({ endpoint: `https://127.0.0.1:${port}`, tls, clock });
  opened.push(backend);
  return backend;
}

const respondWith = (status: number, body: string): void => {
  respond = (_request, response) => response.writeHead(status).end(body);
};

test('agent backend returns a response that matches the schema', async () => {
  respondWith(200, JSON.stringify(view));
  expect(await open().ensure(spec, never)).toEqual(view);
  respondWith(200, JSON.stringify({ volumes: [view] }));
  expect(await open().list(never)).toEqual([view]);
});

it.each([
  ['an empty body', 200, ''],
  ['invalid JSON', 200, '<html>'],
  ['a response with another schema', 200, '{"volumes":{}}'],
  ['an error without a kind', 500, 'oops'],
  ['an error of an unknown kind', 500, '{"error":{"kind":"gone","message":"x"}}'],
  ['a redirect', 302, ''],
  ['an oversized body', 200, JSON.stringify({ ...view, detail: 'x'.repeat(2_000_000) })],
  ['the view of another volume', 200, JSON.stringify({ ...view, externalId: 'vol-2' })],
])('agent backend reports %s as unavailable, so the caller retries', async (_name, status, body) => {
  respondWith(status, body);
  await expect(open().ensure(spec, never)).rejects.toMatchObject({ kind: 'unavailable', isFinal: false });
});

test('agent backend keeps the kind of an error and strips control characters from its message', async () => {
  respondWith(409, JSON.stringify({ error: { kind: 'conflict', message: 'taken\u001b[2J\nby another' } }));
  await expect(open().ensure(spec, never)).rejects.toMatchObject({
    kind: 'conflict',
    message: 'taken [2J by another',
  });
});

test('agent backend stops waiting on timeout, on abort and on close', async () => {
  respond = () => {};
  const clock = new SimulatedClock();
  const late = open(agent.certificate, clock)
    .list(never)
    .catch((error: unknown) => error);
  await clock.advance(30_000);
  expect(await late).toMatchObject({ kind: 'unavailable' });
  const caller = new AbortController();
  const given = open().list(caller.signal);
  caller.abort(new Error('enough'));
  await expect(given).rejects.toMatchObject({ kind: 'unavailable' });
  const backend = open();
  const closed = backend.list(never);
  await Promise.all([expect(closed).rejects.toMatchObject({ kind: 'unavailable' }), backend.close()]);
});

test('agent backend rejects a node with a certificate other than the pinned one', async () => {
  respondWith(200, JSON.stringify({ volumes: [] }));
  await expect(open(worker.certificate).list(never)).rejects.toMatchObject({ kind: 'unavailable' });
});

test('agent backend refuses ids that could be paths before it sends them', async () => {
  respond = () => {
    throw new Error('asked');
  };
  for (const id of ['..', 'a/b', '', 'A', 'a?b']) {
    await expect(open().remove(id, never)).rejects.toMatchObject({ kind: 'refused' });
    await expect(open().snapshot('a', id, never)).rejects.toMatchObject({ kind: 'refused' });
  }
});

test('connectVolumeBackend refuses incomplete connection options and names what is missing', async () => {
  const deps = { clock: systemClock, log: testLog(), credentials: {} };
  const reach = { kind: 'nfs', endpoint: 'https://10.0.0.1:8650', credentialRef: 'x', settings: {} } as const;
  await expect(connectVolumeBackend(reach, deps)).rejects.toThrow('no credential x');
  await expect(connectVolumeBackend({ ...reach, credentialRef: null }, deps)).rejects.toThrow(
    'names no credential',
  );
  await expect(connectVolumeBackend({ ...reach, endpoint: 'http://10.0.0.1' }, deps)).rejects.toThrow(
    'https://',
  );
});

test('mock backend accepts valid specs, refuses invalid ones and deletes removed volumes', async () => {
  const mock = await connectVolumeBackend(
    { kind: 'mock', endpoint: 'mock:', credentialRef: null, settings: {} },
    { clock: systemClock, log: testLog(), credentials: {} },
  );
  expect(await mock.ensure(spec, never)).toEqual(view);
  const restore = { id: 'restore-1', volumeId: 'vol-2', snapshotId: 'snap-2' };
  expect(await mock.ensure({ ...spec, restore }, never)).toMatchObject({ restored: ['restore-1'] });
  expect(await mock.ensure(spec, never)).toMatchObject({ restored: ['restore-1'] });
  await mock.snapshot('vol-1', 'snap-1', never);
  expect(await mock.list(never)).toEqual([{ ...view, snapshots: ['snap-1'], restored: ['restore-1'] }]);
  await expect(mock.ensure({ ...spec, clients: ['*'] }, never)).rejects.toMatchObject({ kind: 'refused' });
  await mock.removeSnapshot('vol-1', 'snap-1', never);
  await mock.remove('vol-1', never);
  expect(await mock.list(never)).toEqual([]);
});

test('agent backend offers HTTP/1.1 only', async () => {
  const node = await startProtocolRecorder();
  const tls = {
    clientCertificate: worker.certificate,
    clientKey: worker.key,
    serverCertificate: node.certificate.certificate,
  };
  const backend = createAgentBackend({ endpoint: node.url, tls, clock: systemClock });
  opened.push(backend);
  await expect(backend.list(never)).rejects.toThrow();
  expect(await node.offered).toEqual(['http/1.1']);
  node.close();
});
