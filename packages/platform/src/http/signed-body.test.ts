import { afterEach, expect, test } from 'vitest';
import { createTestServer, receiveSignedEvent, market } from './test-server.fixture.ts';
import type { TestServer } from './test-server.fixture.ts';

const open: TestServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

function hearing(options: Parameters<typeof createTestServer>[0] = {}): TestServer {
  const server = createTestServer(options);
  open.push(server);
  server.serve(receiveSignedEvent, async ({ body }) => ({ heard: body }));
  server.serve(market, async () => ({ instances: [] }));
  return server;
}

const post = (server: TestServer, payload: string, type = 'application/json; charset=utf-8') =>
  server.fastify.inject({ method: 'POST', url: '/v2/hear', headers: { 'content-type': type }, payload });

test.each([
  ['whitespace and the order of fields', '{ "b":1,\n "a" : 2 }\n'],
  ['invalid JSON', '{"half":'],
  ['characters of two and four bytes, and a byte order mark', '\u{feff}{"é":"𝄞"}'],
  ['keys that a parser would refuse', '{"__proto__":1}'],
  ['a single blank', ' '],
])('a signed body reaches its handler unchanged: %s', async (_what, text) => {
  const response = await post(hearing(), text);
  expect([response.statusCode, response.json()]).toEqual([200, { heard: text }]);
  expect(response.headers).not.toHaveProperty('x-ignored-fields');
});

test('a missing signed body reaches its handler as an empty text', async () => {
  const response = await hearing().fastify.inject({ method: 'POST', url: '/v2/hear' });
  expect([response.statusCode, response.json()]).toEqual([200, { heard: '' }]);
});

test('a signed body with another media type or beyond the size limit is refused', async () => {
  const server = hearing({ limits: { bodyBytes: 10 } });
  expect((await post(server, 'x', 'text/plain')).json().reason).toBe('UNSUPPORTED_MEDIA_TYPE');
  expect((await post(server, 'x'.repeat(11))).json().reason).toBe('BODY_TOO_LARGE');
});

test('operations with signed bodies have a separate rate limit per address', async () => {
  const server = hearing({ limits: { anonymousRpm: 1, signedRpm: 3 } });
  const other = () => server.fastify.inject({ method: 'POST', url: '/v1/marketplace', payload: {} });
  expect([(await other()).statusCode, (await other()).statusCode]).toEqual([200, 429]);
  const received = [];
  for (let n = 0; n < 4; n += 1) received.push((await post(server, '{}')).statusCode);
  expect(received).toEqual([200, 200, 200, 429]);
});
