import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Fault } from '../fault/index.ts';
import {
  authorizedHeaders,
  createTestServer,
  createItem,
  feed,
  getItem,
  goodKey,
  testContract,
} from './test-server.fixture.ts';
import type { TestServer } from './test-server.fixture.ts';
import type { HttpServerOptions } from './types.ts';
import { reply } from './index.ts';

/** Requests that only hostile or broken clients send. */

const open: TestServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

function serverWith(options: Partial<HttpServerOptions> = {}): TestServer {
  const server = createTestServer(options);
  open.push(server);
  server.serve(createItem, async ({ body }) => ({ id: 'new', size: body.size, key: 'secret' }));
  return server;
}

const limitHeaders = {
  'x-request-id': expect.stringMatching(/^req_/),
  ratelimit: expect.any(String),
  'ratelimit-policy': expect.any(String),
  'x-ratelimit-limit-requests': expect.any(String),
  'x-ratelimit-remaining-requests': expect.any(String),
  'x-ratelimit-reset-requests': expect.any(String),
};

const overLimit = `"${'x'.repeat(1_048_577)}"`;

test.each([
  ['a path that cannot be decoded', { url: '/v2/things/%zz' }, 404],
  ['a parameter that is too long', { url: `/v2/things/${'x'.repeat(600)}` }, 404],
  ['a method without an operation', { method: 'OPTIONS', url: '/v2/things' }, 405],
  ['a large body for an unknown path', { method: 'POST', url: '/nothing', payload: overLimit }, 400],
  [
    'a large body for an operation without a handler',
    { method: 'POST', url: '/v1/chat', payload: overLimit },
    413,
  ],
] as const)('%s is rate-limited, gets the rate headers and is logged', async (_what, request, status) => {
  const server = serverWith();
  server.serve(getItem, async () => ({ id: 'a', size: 1, key: null }));
  const headers = {
    ...authorizedHeaders,
    ...('payload' in request ? { 'content-type': 'application/json' } : {}),
  };
  const response = await server.fastify.inject({ ...request, headers });
  expect(response.statusCode).toBe(status);
  expect(response.headers).toMatchObject({ ...limitHeaders, 'x-ratelimit-remaining-requests': '59' });
  expect(server.lines.filter((line) => line.includes('"msg":"request"'))).toHaveLength(1);
});

test('requests without a route are limited by address, whatever is wrong with them', async () => {
  const { fastify } = serverWith({ limits: { anonymousRpm: 1 } });
  expect((await fastify.inject({ url: '/v2/%zz' })).statusCode).toBe(404);
  expect((await fastify.inject({ url: '/v2/%zz' })).statusCode).toBe(429);
  const large = { method: 'POST', url: '/x', headers: { 'content-type': 'application/json' } } as const;
  expect((await fastify.inject({ ...large, payload: overLimit })).statusCode).toBe(429);
});

test('a key that could not be checked does not count as a failed authentication', async () => {
  const authenticate: HttpServerOptions['authenticate'] = () =>
    Promise.reject(new Fault('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 }));
  const { fastify } = serverWith({ authenticate, limits: { failedAuthRpm: 1 } });
  for (let call = 0; call < 3; call += 1) {
    const response = await fastify.inject({ method: 'POST', url: '/v2/things', headers: authorizedHeaders });
    expect(response.statusCode).toBe(503);
    expect(response.headers).toMatchObject({ ...limitHeaders, 'retry-after': '1' });
  }
});

test('deeply nested JSON is refused, with and without an idempotency key', async () => {
  const { fastify } = serverWith();
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  for (const extra of [{}, { 'idempotency-key': 'deep' }]) {
    const response = await fastify.inject({
      method: 'POST',
      url: '/v2/things',
      headers: { ...authorizedHeaders, 'content-type': 'application/json', ...extra },
      payload: `{"size":8,"x":${nested}}`,
    });
    expect([response.statusCode, response.json().reason]).toEqual([400, 'VALIDATION_FAILED']);
    expect(response.json().issues).toMatchObject([{ code: 'too_deep' }]);
  }
});

test.each([
  ['an unknown expectation', 'GET', 'Host: x\r\nExpect: the-unexpected', 404, 'ROUTE_NOT_FOUND'],
  ['a method that must have a body, without one', 'QUERY', 'Host: x', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['no Host', 'GET', 'Accept: */*', 400, 'VALIDATION_FAILED'],
])(
  'the server responds to %s with an error body and the rate headers, and logs no error',
  async (_what, method, header, status, reason) => {
    const server = serverWith();
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    const head = `${method} /v2/nothing HTTP/1.1\r\n${header}\r\nConnection: close\r\n\r\n`;
    const response = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(head));
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(response).toMatch(/\r\nratelimit: /);
    expect(response).toContain(`"reason":"${reason}"`);
    expect(server.lines.some((line) => line.includes('"level":"error"'))).toBe(false);
  },
);

test('a deprecated list links both its successor and its next page', async () => {
  const notice = { deprecatedAt: '2020-01-01T00:00:00Z', successor: '/v2/things' } as const;
  const server = createTestServer({ contract: { ...testContract, deprecations: { feed: notice } } });
  open.push(server);
  server.serve(feed, async () => reply({ items: [] }, { link: '</v2/feed?cursor=x>; rel="next"' }));
  const response = await server.fastify.inject({ url: '/v2/feed', headers: authorizedHeaders });
  expect(response.headers['deprecation']).toBe('@1577836800');
  expect(response.headers['link']).toBe(
    '</v2/things>; rel="successor-version", </v2/feed?cursor=x>; rel="next"',
  );
});

test('admitAnonymous limits a route without an operation by address', async () => {
  const server = serverWith({ limits: { anonymousRpm: 1 } });
  server.fastify.get('/open', { onRequest: server.admitAnonymous }, async () => 'text');
  const first = await server.fastify.inject({
    url: '/open',
    headers: { authorization: `Bearer ${goodKey}` },
  });
  expect(first.statusCode).toBe(200);
  expect(first.headers).toMatchObject(limitHeaders);
  expect((await server.fastify.inject({ url: '/open' })).statusCode).toBe(429);
});
