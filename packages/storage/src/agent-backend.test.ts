import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SimulatedClock, systemClock } from '@millrace/platform/clock';
import { makeCertificate, startProtocolRecorder, testIds } from '@millrace/testing';
import { afterAll, afterEach, expect, it, test } from 'vitest';
import { createAgentBackend } from './agent-backend.ts';
import type { VolumeBackend } from './backend.ts';
import { connectVolumeBackend } from './connect.ts';

// A storage node that says anything: nothing of it may be taken for what it is not.

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

test('an answer that has the agreed shape is given on', async () => {
  respondWith(200, JSON.stringify(view));
  expect(await open().ensure(spec, never)).toEqual(view);
  respondWith(200, JSON.stringify({ volumes: [view] }));
  expect(await open().list(never)).toEqual([view]);
});

it.each([
  ['nothing', 200, ''],
  ['no JSON', 200, '<html>'],
  ['another shape', 200, '{"volumes":{}}'],
  ['a failure without a kind', 500, 'oops'],
  ['a failure of a kind that nobody knows', 500, '{"error":{"kind":"gone","message":"x"}}'],
  ['a redirect', 302, ''],
  ['too much', 200, JSON.stringify({ ...view, detail: 'x'.repeat(2_000_000) })],
  ['another volume', 200, JSON.stringify({ ...view, externalId: 'vol-2' })],
])('%s is no answer, so that the question is asked again', async (_name, status, body) => {
  respondWith(status, body);
  await expect(open().ensure(spec, never)).rejects.toMatchObject({ kind: 'unavailable', isFinal: false });
});

test('a refusal is given on by its kind, and its words cannot do harm', async () => {
  respondWith(409, JSON.stringify({ error: { kind: 'conflict', message: 'taken\u001b[2J\nby another' } }));
  await expect(open().ensure(spec, never)).rejects.toMatchObject({
    kind: 'conflict',
    message: 'taken [2J by another',
  });
});

test('silence ends by our own clock, by the caller, and by closing', async () => {
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

test('a node that shows another certificate than the pinned one is not spoken to', async () => {
  respondWith(200, JSON.stringify({ volumes: [] }));
  await expect(open(worker.certificate).list(never)).rejects.toMatchObject({ kind: 'unavailable' });
});

test('ids that could be paths never leave this process', async () => {
  respond = () => {
    throw new Error('asked');
  };
  for (const id of ['..', 'a/b', '', 'A', 'a?b']) {
    await expect(open().remove(id, never)).rejects.toMatchObject({ kind: 'refused' });
    await expect(open().snapshot('a', id, never)).rejects.toMatchObject({ kind: 'refused' });
  }
});

test('a node that was not told how to be reached is refused with what is missing', async () => {
  const deps = { clock: systemClock, credentials: {} };
  const reach = { kind: 'nfs', endpoint: 'https://10.0.0.1:8650', credentialRef: 'x', settings: {} } as const;
  await expect(connectVolumeBackend(reach, deps)).rejects.toThrow('no credential x');
  await expect(connectVolumeBackend({ ...reach, credentialRef: null }, deps)).rejects.toThrow(
    'names no credential',
  );
  await expect(connectVolumeBackend({ ...reach, endpoint: 'http://10.0.0.1' }, deps)).rejects.toThrow(
    'https://',
  );
});

test('the mock says yes, refuses what every backend refuses, and forgets what is removed', async () => {
  const mock = await connectVolumeBackend(
    { kind: 'mock', endpoint: 'mock:', credentialRef: null, settings: {} },
    { clock: systemClock, credentials: {} },
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

test('offers a storage node HTTP/1.1 alone', async () => {
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
