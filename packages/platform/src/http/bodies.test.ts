import { trackRequestProgress, type RequestProgress } from '@millrace/testing';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { Fault } from '../fault/index.ts';
import { chat, createTestServer, market, testPrincipal, type TestServer } from './test-server.fixture.ts';
import type { Principal } from './types.ts';

/** Tests the memory of slowly arriving bodies on real connections. */

const bodies = {
  ...{ processBytes: 300_000, processBodies: 8 },
  ...{ unfundedBytes: 100_000, unfundedBodies: 4 },
  ...{ callerBytes: 100_000, callerBodies: 4 },
};
const bodyBytes = 100_000;

const open: TestServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(open.splice(0).map((server) => server.close()));
});

interface Listening {
  readonly port: number;
  readonly arrivals: RequestProgress;
}

const callers: Readonly<Record<string, Principal>> = {
  first: testPrincipal(),
  second: testPrincipal(),
  third: testPrincipal(),
  fourth: testPrincipal(),
  poor: testPrincipal({ orgFunded: false }),
  tester: testPrincipal({ mode: 'test' }),
};

async function listen(): Promise<Listening> {
  const server = createTestServer({
    limits: { bodyBytes, bodies, anonymousRpm: 1_000_000 },
    trustedProxies: ['127.0.0.1/32'],
    authenticate: async ({ key }) => {
      const caller = callers[key];
      if (caller === undefined) throw new Fault('INVALID_API_KEY');
      return { ...caller, limits: { organisationRpm: 1_000_000, keyRpm: null } };
    },
  });
  open.push(server);
  server.serve(market, async () => ({ instances: [] }));
  server.serve(chat, async () => ({ ok: true }));
  const arrivals = trackRequestProgress(server.fastify.server);
  return { port: (await server.listen({ host: '127.0.0.1', port: 0 })).port, arrivals };
}

type From = { readonly key: string } | { readonly address: string };

const headersOf = (from: From): Record<string, string> =>
  'key' in from ? { authorization: `Bearer ${from.key}` } : { 'x-forwarded-for': from.address };
const pathOf = (from: From): string => ('key' in from ? '/v1/chat' : '/v1/marketplace');

/** Sends most of a body of the maximum size, never the rest. Resolves when the server has read or refused it. */
async function uploadSlowly({ port, arrivals }: Listening, from: From): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  const headers = { host: 'x', 'content-type': 'application/json', 'content-length': bodyBytes };
  const lines = Object.entries({ ...headers, ...headersOf(from) }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.write(`POST ${pathOf(from)} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  socket.write(Buffer.alloc(90_000, 0x20));
  sockets.push(socket);
  await arrivals.of(socket);
  return socket;
}

async function post({ port }: Listening, from: From): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${pathOf(from)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersOf(from) },
    body: JSON.stringify({ model: 'x', pad: 'x'.repeat(30_000) }),
  });
  await response.text();
  return response.status;
}

async function waitForRoom(server: Listening, from: From): Promise<void> {
  while ((await post(server, from)) !== 200);
}

describe('request bodies at the api', () => {
  test.each([
    [
      'anonymous callers',
      [{ address: '192.0.2.1' }, { address: '198.51.100.1' }],
      { address: '203.0.113.1' },
    ],
    ['organisations without deposits', [{ key: 'poor' }], { address: '203.0.113.1' }],
    ['test keys', [{ key: 'tester' }], { key: 'poor' }],
  ] satisfies [string, From[], From][])(
    'slow uploads of %s leave memory for funded callers',
    async (_, from, other) => {
      const server = await listen();
      for (const each of from) await uploadSlowly(server, each);
      expect(await post(server, other)).toBe(429);
      expect(await post(server, { key: 'first' })).toBe(200);
      for (const socket of sockets) socket.destroy();
      await waitForRoom(server, other);
    },
  );

  test('respond 503 when the process has no memory left, and 429 to a caller that used up its own share', async () => {
    const server = await listen();
    for (const key of ['first', 'second', 'third']) await uploadSlowly(server, { key });
    expect(await post(server, { key: 'first' })).toBe(429);
    expect(await post(server, { key: 'fourth' })).toBe(503);
    for (const socket of sockets) socket.destroy();
    await waitForRoom(server, { key: 'fourth' });
  });

  test('cause no error in the log when the client disconnects during the upload', async () => {
    const server = await listen();
    const socket = await uploadSlowly(server, { key: 'first' });
    expect(await post(server, { key: 'first' })).toBe(429);
    socket.destroy();
    await waitForRoom(server, { key: 'first' });
    const lines = open[0]?.lines ?? [];
    expect(lines.filter((line) => line.includes('request failed'))).toEqual([]);
  });
});
