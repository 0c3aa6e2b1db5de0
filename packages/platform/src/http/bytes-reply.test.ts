import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { Fault } from '../fault/index.ts';
import { bytesReply, type ReplyBytes } from './response/reply.ts';
import { createTestServer, market, type TestServer } from './test-server.fixture.ts';

const open: TestServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

const text = '{"instances":["a","b"]}';
const packed = { etag: '"v1"', 'content-encoding': 'gzip', 'content-length': String(gzipSync(text).length) };

function serving(
  produce: () => Promise<ReplyBytes>,
  headers: Readonly<Record<string, string>> = packed,
  options: Parameters<typeof createTestServer>[0] = {},
): TestServer {
  const server = createTestServer(options);
  open.push(server);
  server.serve(market, async () => bytesReply(headers, produce));
  return server;
}

const send = (server: TestServer, headers: Readonly<Record<string, string>> = {}) =>
  server.fastify.inject({ method: 'POST', url: '/v1/marketplace', headers });

test.each([
  ['at once', () => gzipSync(text)],
  ['as a stream', () => Readable.from([gzipSync(text).subarray(0, 9), gzipSync(text).subarray(9)])],
])('bytesReply sends the bytes of the handler unchanged, %s', async (_how, produce) => {
  const response = await send(serving(async () => produce()));
  expect([response.statusCode, gunzipSync(response.rawPayload).toString()]).toEqual([200, text]);
  expect(response.headers).toMatchObject({ ...packed, 'content-type': 'application/json; charset=utf-8' });
});

test('bytesReply responds 304 without producing the body if the client has its ETag', async () => {
  const server = serving(() => Promise.reject(new Error('It was made.')));
  const response = await send(server, { 'if-none-match': 'W/"v0", "v1"' });
  expect([response.statusCode, response.rawPayload.length]).toEqual([304, 0]);
  expect(response.headers).toMatchObject({ etag: '"v1"' });
  expect(response.headers).not.toHaveProperty('content-encoding');
});

test('bytesReply sends a fault of its producer as plain JSON without the headers of the bytes', async () => {
  const response = await send(serving(() => Promise.reject(new Fault('INVALID_CURSOR'))));
  expect([response.statusCode, response.json().reason]).toEqual([400, 'INVALID_CURSOR']);
  expect(response.headers).not.toHaveProperty('content-encoding');
  expect(response.headers).not.toHaveProperty('etag');
});

test('bytesReply responds 500 in development if the bytes violate the schema', async () => {
  const produce = async () => gzipSync('{"instances":[1]}');
  expect((await send(serving(produce, { 'content-encoding': 'gzip' }))).statusCode).toBe(500);
});

test('bytesReply closes the connection of a client that has not read everything within the send timeout', async () => {
  const clock = new SimulatedClock(0);
  const endless = function* (): Generator<Buffer> {
    for (;;) yield Buffer.alloc(65_536);
  };
  const limits = { sendTimeoutMs: 1_000 };
  const server = serving(
    async () => Readable.from(endless()),
    {},
    { clock, limits, validateResponses: false },
  );
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect(port, '127.0.0.1');
  socket.write('POST /v1/marketplace HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await clock.advance(1_000);
  socket.resume();
  await closed;
});
