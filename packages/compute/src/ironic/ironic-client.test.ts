import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { SimulatedClock, systemClock, type Clock } from '@millrace/platform/clock';
import { startProtocolRecorder } from '@millrace/testing';
import { expect, it, onTestFinished } from 'vitest';
import type { DriverErrorKind } from '../driver-error.ts';
import { IronicClient } from './ironic-client.ts';
import { IronicError } from './ironic-errors.ts';

// A misbehaving server; other tests use the real Ironic.

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const uuid = '0c3c1f6e-6c6f-4f1e-9f39-6a8c8a4f1c11';
const never = new AbortController().signal;

async function serve(
  handler: Handler,
  clock: Clock = systemClock,
): Promise<{ client: IronicClient; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const reach = {
    endpoint: `http://127.0.0.1:${port}/metal/v1/`,
    credential: { username: 'u', password: 'p:ü', serverCertificate: null },
  };
  const client = new IronicClient(reach, clock);
  onTestFinished(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, requests };
}

const text =
  (body: string, status = 200): Handler =>
  (_request, response) => {
    response.writeHead(status).end(body);
  };

async function kindOf(call: Promise<unknown>): Promise<DriverErrorKind | 'no failure'> {
  return call.then(
    () => 'no failure',
    (error: unknown) => (error instanceof IronicError ? error.kind : expect.fail(`threw ${String(error)}`)),
  );
}

it("IronicClient sends version, user and scope with every request, below the endpoint's path", async () => {
  const { client, requests } = await serve(text(JSON.stringify({ uuid })));
  await client.findNode(uuid, never);
  const [request] = requests;
  expect(request?.url).toMatch(new RegExp(`^/metal/v1/nodes/${uuid}\\?fields=uuid,name,provision_state`));
  expect(request?.headers).toMatchObject({
    'x-openstack-ironic-api-version': '1.82',
    'openstack-system-scope': 'all',
    authorization: `Basic ${Buffer.from('u:p:ü').toString('base64')}`,
  });
});

it.each([
  ['invalid JSON', '<html>'],
  ['an empty body', ''],
  ['another schema', '{"nodes":7}'],
  ['a node without an id', '{"provision_state":"active"}'],
  ['an id that is a path', '{"uuid":"../../x"}'],
])('IronicClient reads are unavailable if the server responds with %s', async (_title, body) => {
  const { client } = await serve(text(body));
  expect(await kindOf(client.findNode(uuid, never))).toBe('unavailable');
  expect(await kindOf(client.listNodes(never))).toBe('unavailable');
});

it("IronicClient.findNode returns null only for a 404 with Ironic's own message", async () => {
  const { client } = await serve(
    text(JSON.stringify({ error_message: '{"faultstring":"Node x could not be found."}' }), 404),
  );
  expect(await client.findNode(uuid, never)).toBeNull();
  const other = await serve(text('<h1>404</h1>', 404));
  expect(await kindOf(other.client.findNode(uuid, never))).toBe('unavailable');
});

it('IronicClient lists page by page, each after the last item seen', async () => {
  const all = Array.from({ length: 5 }, (_none, index) => `0c3c1f6e-6c6f-4f1e-9f39-6a8c8a4f1c1${index}`);
  const { client, requests } = await serve((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x');
    const from = all.indexOf(searchParams.get('marker') ?? '') + 1;
    const nodes = all.slice(from, from + 2).map((id) => ({ uuid: id }));
    response.end(
      JSON.stringify({ nodes, ...(from + 2 < all.length && { next: 'http://elsewhere.example/' }) }),
    );
  });
  expect((await client.listNodes(never)).map((node) => node.uuid)).toEqual(all);
  expect(requests).toHaveLength(3);
});

it('IronicClient lists are unavailable if every page starts again', async () => {
  const { client, requests } = await serve(
    text(JSON.stringify({ nodes: [{ uuid }], next: 'http://elsewhere.example/' })),
  );
  expect(await kindOf(client.listNodes(never))).toBe('unavailable');
  expect(requests).toHaveLength(2);
});

it('IronicClient reads are unavailable if the response is too long', async () => {
  const { client } = await serve((_request, response) => {
    const chunk = Buffer.alloc(1_048_576, 'x');
    const send = (): void => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', send);
    };
    send();
  });
  expect(await kindOf(client.findNode(uuid, never))).toBe('unavailable');
});

it('IronicClient calls end at their timeout by the given clock', async () => {
  const clock = new SimulatedClock();
  const { client } = await serve(() => undefined, clock);
  const call = kindOf(client.setPower(uuid, { target: 'power on' }, never));
  await clock.advance(60_000);
  expect(await call).toBe('unavailable');
});

it('IronicClient does not follow redirects', async () => {
  const { client, requests } = await serve((_request, response) => {
    response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
  });
  expect(await kindOf(client.listNodes(never))).toBe('unavailable');
  expect(requests).toHaveLength(1);
});

it('IronicClient calls are unavailable without a server and after close', async () => {
  const credential = { username: 'u', password: 'p', serverCertificate: null };
  const reach = { endpoint: 'http://127.0.0.1:9', credential };
  const client = new IronicClient(reach, systemClock);
  expect(await kindOf(client.findNode(uuid, never))).toBe('unavailable');
  await client.close();
  expect(await kindOf(client.findNode(uuid, never))).toBe('unavailable');
});

it('IronicClient offers HTTP/1.1 only', async () => {
  const ironic = await startProtocolRecorder();
  const reach = {
    endpoint: ironic.url,
    credential: { username: 'u', password: 'p', serverCertificate: ironic.certificate.certificate },
  };
  const client = new IronicClient(reach, systemClock);
  await expect(client.findNode(uuid, never)).rejects.toThrow();
  expect(await ironic.offered).toEqual(['http/1.1']);
  await client.close();
  ironic.close();
});
