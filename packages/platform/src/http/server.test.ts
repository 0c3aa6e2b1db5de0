import { errorBodyFor } from '@millrace/contract';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { Fault } from '../fault/index.ts';
import { parseId } from '../ids/index.ts';
import type { Limiter } from '../limiter/index.ts';
import { reply, requirePrincipal } from './index.ts';
import {
  authorizedHeaders,
  chat,
  createTestServer,
  createItem,
  deleteItem,
  getItem,
  goodKey,
  market,
  retired,
  testContract,
  testPrincipal,
} from './test-server.fixture.ts';
import type { TestServer } from './test-server.fixture.ts';
import type { HttpServerOptions } from './types.ts';

const open: TestServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

function serverWith(
  options: Parameters<typeof createTestServer>[0] = {},
  bind: (server: TestServer) => void = bindAll,
): TestServer {
  const server = createTestServer(options);
  open.push(server);
  bind(server);
  return server;
}

function bindAll(server: TestServer): void {
  server.serve(getItem, async ({ params, query }) => ({ id: params.thingId, size: query.limit, key: null }));
  server.serve(createItem, async ({ body }) => ({ id: 'new', size: body.size, key: 'secret' }));
  server.serve(chat, async () => ({ ok: true }));
  server.serve(market, async () => ({ instances: [] }));
  server.serve(deleteItem, async () => undefined);
  server.serve(retired, async () => ({}));
}

test("a response has a request id of the server, never the client's, and the rate limits", async () => {
  const { fastify } = serverWith();
  const response = await fastify.inject({
    url: '/v2/things/a',
    headers: { ...authorizedHeaders, 'x-request-id': 'req_of_the_client' },
  });
  expect(response.statusCode).toBe(200);
  expect(response.json()).toEqual({ id: 'a', size: 5, key: null });
  expect(parseId('req', String(response.headers['x-request-id']))).not.toBeNull();
  expect(response.headers).toMatchObject({
    'ratelimit-policy': '"organisation";q=60;w=60',
    ratelimit: '"organisation";r=59;t=1',
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1s',
    'cache-control': 'no-store',
  });
});

test('an alias responds exactly like its operation', async () => {
  const { fastify } = serverWith();
  const [one, other] = await Promise.all(
    ['/v2/alpha/things/a', '/v2/things/a'].map((url) => fastify.inject({ url, headers: authorizedHeaders })),
  );
  expect(one?.json()).toEqual(other?.json());
});

test('every error has the body of its family, the rate limits and a request id', async () => {
  const { fastify } = serverWith();
  const cases = [
    { request: { url: '/v2/things/a' }, status: 401, reason: 'MISSING_API_KEY', family: 'v2' },
    {
      request: { url: '/v2/things/a', headers: { authorization: 'Basic eDp5' } },
      status: 401,
      reason: 'MALFORMED_API_KEY',
      family: 'v2',
    },
    {
      request: { url: '/v2/things/a', headers: { authorization: 'Bearer wrong' } },
      status: 401,
      reason: 'INVALID_API_KEY',
      family: 'v2',
    },
    {
      request: { url: '/v2/nothing', headers: authorizedHeaders },
      status: 404,
      reason: 'ROUTE_NOT_FOUND',
      family: 'v2',
    },
    {
      request: { method: 'PUT', url: '/v2/things', headers: authorizedHeaders },
      status: 405,
      reason: 'METHOD_NOT_ALLOWED',
      family: 'v2',
    },
    {
      request: { method: 'PUT', url: '/v1/marketplace', headers: authorizedHeaders },
      status: 405,
      reason: 'METHOD_NOT_ALLOWED',
      family: 'marketplace',
    },
    {
      request: { url: '/v1/marketplace/nothing', headers: authorizedHeaders },
      status: 404,
      reason: 'ROUTE_NOT_FOUND',
      family: 'marketplace',
    },
    {
      request: { url: '/v2/feed', headers: authorizedHeaders },
      status: 404,
      reason: 'OPERATION_NOT_IMPLEMENTED',
      family: 'v2',
    },
    {
      request: { method: 'POST', url: '/v2/things', headers: authorizedHeaders, payload: { size: 7 } },
      status: 400,
      reason: 'VALIDATION_FAILED',
      family: 'v2',
    },
    {
      request: { method: 'POST', url: '/v1/chat', headers: authorizedHeaders, payload: {} },
      status: 422,
      family: 'inference',
    },
    {
      request: { method: 'POST', url: '/v1/marketplace', payload: { filters: 1 } },
      status: 400,
      reason: 'VALIDATION_FAILED',
      family: 'marketplace',
    },
    {
      request: { url: '/v2/retired', headers: authorizedHeaders },
      status: 410,
      reason: 'GONE',
      family: 'v2',
    },
  ] as const;
  for (const { request, status, family, ...rest } of cases) {
    const response = await fastify.inject(request);
    const name = `${'method' in request ? request.method : 'GET'} ${request.url}`;
    expect(response.statusCode, name).toBe(status);
    expect(response.headers['content-type'], name).toBe('application/json; charset=utf-8');
    expect(response.headers, name).toMatchObject({
      'x-request-id': expect.stringMatching(/^req_/),
      ratelimit: expect.any(String),
      'ratelimit-policy': expect.any(String),
      'x-ratelimit-remaining-requests': expect.any(String),
    });
    expect(errorBodyFor(family, status).safeParse(response.json()).error, name).toBeUndefined();
    if ('reason' in rest) expect(response.json().reason, name).toBe(rest.reason);
  }
});

test('a validation error names the field, the problem and a suggestion', async () => {
  const { fastify } = serverWith();
  const response = await fastify.inject({
    method: 'POST',
    url: '/v2/things',
    headers: authorizedHeaders,
    payload: { size: 7 },
  });
  expect(response.json()).toMatchObject({
    message: 'Input validation failed',
    code: 'BAD_REQUEST',
    issues: [{ message: 'must be a multiple of 8', path: ['size'], code: 'not_multiple_of' }],
    reason: 'VALIDATION_FAILED',
    suggestion: 'Use 8, 16, 24, …',
    docUrl: '/docs/errors#VALIDATION_FAILED',
  });
});

test('the inference error body has flat and nested fields', async () => {
  const { fastify } = serverWith();
  const response = await fastify.inject({
    method: 'POST',
    url: '/v1/chat',
    headers: authorizedHeaders,
    payload: {},
  });
  expect(response.json()).toMatchObject({
    object: 'error',
    type: 'invalid_request_error',
    param: 'model',
    code: 422,
    error: { type: 'invalid_request_error', param: 'model', code: 'validation_failed' },
    detail: [{ loc: ['body', 'model'], msg: 'is required', type: 'invalid_type' }],
  });
});

test('unknown fields are ignored and listed, and invalid fields are still refused', async () => {
  const { fastify } = serverWith();
  const response = await fastify.inject({
    method: 'POST',
    url: '/v2/things?dry=1',
    headers: authorizedHeaders,
    payload: { size: 8, 'wéird\r\nX: 1': 1, extra: { deep: true } },
  });
  expect(response.statusCode).toBe(201);
  expect(response.headers['x-ignored-fields']).toBe('dry, w%C3%A9ird%0D%0AX%3A%201, extra');
});

test('a key without the scope gets 403 with the missing scope', async () => {
  const { fastify } = serverWith({ principal: testPrincipal({ scopes: new Set() }) });
  const response = await fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders });
  expect(response.statusCode).toBe(403);
  expect(response.json()).toMatchObject({ reason: 'INSUFFICIENT_SCOPE', requiredScope: 'rentals:read' });
});

test('a rate-limited request gets the name, the scope and the retry time of the limit', async () => {
  const principal = testPrincipal({ limits: { organisationRpm: 60, keyRpm: 1 } });
  const { fastify } = serverWith({ principal });
  await fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders });
  const response = await fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders });
  expect(response.statusCode).toBe(429);
  expect(response.headers['retry-after']).toBe('60');
  expect(response.headers['ratelimit']).toBe('"organisation";r=59;t=1, "key";r=0;t=60');
  expect(response.json().limit).toEqual({
    name: 'key',
    scope: 'key',
    limit: 1,
    windowSeconds: 60,
    remaining: 0,
    resetSeconds: 60,
    retryAfterSeconds: 60,
  });
});

test('anonymous operations are limited by address', async () => {
  const { fastify } = serverWith({ limits: { anonymousRpm: 2 } });
  const call = (remoteAddress: string) =>
    fastify.inject({ method: 'POST', url: '/v1/marketplace', payload: {}, remoteAddress });
  const statuses = [];
  for (let i = 0; i < 3; i += 1) statuses.push((await call('203.0.113.9')).statusCode);
  expect(statuses).toEqual([200, 200, 429]);
  expect((await call('203.0.113.10')).statusCode).toBe(200);
});

test('guessing keys is limited by address, and a valid key from the same address still passes', async () => {
  const { fastify } = serverWith({ limits: { failedAuthRpm: 2 } });
  const guess = () => fastify.inject({ url: '/v2/things/a', headers: { authorization: 'Bearer guess' } });
  expect((await guess()).statusCode).toBe(401);
  expect((await guess()).statusCode).toBe(401);
  const third = await guess();
  expect(third.statusCode).toBe(429);
  expect(third.json().limit).toMatchObject({ name: 'failed-authentication', scope: 'ip' });
  expect((await fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders })).statusCode).toBe(200);
});

test('a response has the rate limits even if authentication fails with an internal error', async () => {
  const authenticate: HttpServerOptions['authenticate'] = () =>
    Promise.reject(new Error('database password is hunter2'));
  const { fastify, lines } = serverWith({ authenticate });
  const response = await fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders });
  expect(response.statusCode).toBe(500);
  expect(response.headers['ratelimit']).toBeDefined();
  expect(response.body).not.toContain('hunter2');
  expect(lines.some((line) => line.includes('"level":"error"'))).toBe(true);
});

test('X-Forwarded-For is used only from a trusted proxy', async () => {
  const seen: string[] = [];
  const authenticate: HttpServerOptions['authenticate'] = ({ clientIp }) => {
    seen.push(clientIp);
    return Promise.resolve(testPrincipal());
  };
  const { fastify } = serverWith({ authenticate, trustedProxies: ['10.0.0.0/8'] });
  const headers = { ...authorizedHeaders, 'x-forwarded-for': '1.1.1.1, 198.51.100.7, 10.1.1.1' };
  await fastify.inject({ url: '/v2/things/a', headers, remoteAddress: '203.0.113.9' });
  await fastify.inject({ url: '/v2/things/a', headers, remoteAddress: '10.0.0.1' });
  expect(seen).toEqual(['203.0.113.9', '198.51.100.7']);
});

test.each([
  ['not JSON', '{"size":', 'application/json', 400, 'MALFORMED_JSON'],
  ['a poisoned prototype', '{"size":8,"__proto__":{"x":1}}', 'application/json', 400, 'MALFORMED_JSON'],
  [
    'a poisoned constructor',
    '{"constructor":{"prototype":{}},"size":8}',
    'application/json',
    400,
    'MALFORMED_JSON',
  ],
  ['a form', 'size=8', 'application/x-www-form-urlencoded', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  [
    'a body over the limit',
    JSON.stringify({ size: 8, pad: 'x'.repeat(1_048_577) }),
    'application/json',
    400,
    'BODY_TOO_LARGE',
  ],
  ['a NUL character', '{"size":8,"color":"red\\u0000"}', 'application/json', 400, 'VALIDATION_FAILED'],
  ['half a surrogate pair', '{"size":8,"color":"\\ud800"}', 'application/json', 400, 'VALIDATION_FAILED'],
  ['an empty body', '', 'application/json', 400, 'VALIDATION_FAILED'],
])('%s is refused as a client error', async (_what, payload, contentType, status, reason) => {
  const { fastify } = serverWith();
  const response = await fastify.inject({
    method: 'POST',
    url: '/v2/things',
    headers: { ...authorizedHeaders, 'content-type': contentType },
    payload,
  });
  expect([response.statusCode, response.json().reason]).toEqual([status, reason]);
  expect(response.headers['ratelimit']).toBeDefined();
});

test('an unauthenticated request is refused before its body is read', async () => {
  const { fastify } = serverWith();
  const headers = { 'content-type': 'application/json' };
  const response = await fastify.inject({ method: 'POST', url: '/v2/things', headers, payload: '{"size":' });
  expect(response.statusCode).toBe(401);
});

test('an operation without a body ignores any body', async () => {
  const { fastify } = serverWith();
  for (const contentType of ['application/json', 'text/plain']) {
    const headers = { ...authorizedHeaders, 'content-type': contentType };
    const response = await fastify.inject({
      method: 'DELETE',
      url: '/v2/things/a',
      headers,
      payload: 'rubbish',
    });
    expect([response.statusCode, response.body], contentType).toEqual([204, '']);
  }
});

test('a response that violates its schema is 500 in development and is sent unchanged in production', async () => {
  for (const [validateResponses, status] of [
    [true, 500],
    [false, 200],
  ] as const) {
    const server = serverWith({ validateResponses }, ({ serve }) => {
      serve(getItem, async () => ({ id: 'a', size: 1, key: null, leaked: 'field' }));
    });
    const response = await server.fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders });
    expect(response.statusCode).toBe(status);
    expect(server.lines.some((line) => line.includes('outside its schema'))).toBe(validateResponses);
  }
});

test('an internal error is only in the log, and the caller gets a request id', async () => {
  const server = serverWith({}, ({ serve }) => {
    serve(getItem, () => Promise.reject(new Error('relation "secrets" does not exist')));
  });
  const response = await server.fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders });
  expect(response.statusCode).toBe(500);
  expect(response.body).not.toContain('secrets');
  const { requestId } = z.object({ requestId: z.string() }).parse(response.json());
  expect(server.lines.some((line) => line.includes(requestId) && line.includes('relation'))).toBe(true);
});

test('a client error is logged only by the line of its request, at level info', async () => {
  const server = serverWith();
  await server.fastify.inject({ url: '/v2/things/a' });
  expect(server.lines).toHaveLength(1);
  expect(JSON.parse(server.lines[0] ?? '')).toMatchObject({
    level: 'info',
    status: 401,
    reason: 'MISSING_API_KEY',
  });
});

test('baseline operations use the statuses of the interface for the same fault', async () => {
  const server = serverWith({}, ({ serve }) => {
    serve(testContract.operations.createInterfaceThing, () =>
      Promise.reject(new Fault('IDEMPOTENCY_KEY_REUSED')),
    );
    serve(createItem, () => Promise.reject(new Fault('IDEMPOTENCY_KEY_REUSED')));
  });
  const post = (url: string) =>
    server.fastify.inject({ method: 'POST', url, headers: authorizedHeaders, payload: { size: 8 } });
  expect((await post('/v2/things')).statusCode).toBe(409);
  expect((await post('/v2/alpha/interface-things')).statusCode).toBe(400);
});

test.each(['', ' ', 'x'.repeat(256), 'naïve'])('the idempotency key %j is rejected', async (key) => {
  const { fastify } = serverWith();
  const headers = { ...authorizedHeaders, 'idempotency-key': key };
  const response = await fastify.inject({ method: 'POST', url: '/v2/things', headers, payload: { size: 8 } });
  expect([response.statusCode, response.json().reason]).toEqual([400, 'IDEMPOTENCY_KEY_INVALID']);
});

test('a handler that times out responds 503 with Retry-After', async () => {
  const { fastify } = serverWith({ limits: { handlerTimeoutMs: 20 } }, ({ serve }) => {
    serve(
      getItem,
      ({ context }) =>
        new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(new Error('left')))),
    );
  });
  const response = await fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders });
  expect([response.statusCode, response.json().reason, response.headers['retry-after']]).toEqual([
    503,
    'SERVICE_UNAVAILABLE',
    '1',
  ]);
});

test('requests pass while the limiter is degraded, with the policy in their headers', async () => {
  const limiter: Limiter = {
    consume: ({ policies }) =>
      Promise.resolve({
        allowed: true,
        degraded: true,
        refusedBy: null,
        policies: policies.map((policy) => ({
          policy,
          limit: policy.limit,
          remaining: policy.limit,
          resetMs: 0,
          retryAfterMs: 0,
        })),
      }),
    peek: () => Promise.reject(new Error('not asked')),
  };
  const { fastify } = serverWith({ limiter });
  const response = await fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders });
  expect([response.statusCode, response.headers['ratelimit']]).toEqual([200, '"organisation";r=60;t=0']);
});

test('a handler can add headers and read the principal', async () => {
  const { fastify, principal } = serverWith({}, ({ serve }) => {
    serve(getItem, async ({ context }) =>
      reply({ id: requirePrincipal(context).orgId, size: 1, key: null }, { link: '<x>; rel="next"' }),
    );
  });
  const response = await fastify.inject({ url: '/v2/things/a', headers: authorizedHeaders });
  expect([response.json().id, response.headers['link']]).toEqual([principal.orgId, '<x>; rel="next"']);
});

test('serve accepts only operations of the contract, each once', () => {
  const server = serverWith();
  expect(() => server.serve(getItem, async () => ({ id: '', size: 1, key: null }))).toThrow('already served');
  expect(() => server.serve({ ...getItem }, async () => ({ id: '', size: 1, key: null }))).toThrow(
    'not an operation',
  );
  expect(server.served()).toContain('getThing');
});

test('API keys never appear in the log', async () => {
  const server = serverWith();
  const key = `mr_live_ABCDEFGHJKMN_${'s'.repeat(38)}`;
  await server.fastify.inject({ url: `/v2/unknown?k=${key}`, headers: { authorization: `Bearer ${key}` } });
  expect(server.lines.join('')).not.toContain('sss');
  expect(goodKey).not.toContain('mr_');
});

test('a wrong method gets 405 with the allowed methods', async () => {
  const { fastify } = serverWith();
  const response = await fastify.inject({
    method: 'POST',
    url: '/v2/things/a?x=1',
    headers: authorizedHeaders,
  });
  expect([response.statusCode, response.headers.allow]).toEqual([405, 'DELETE, GET']);
  expect(response.json()).toMatchObject({ reason: 'METHOD_NOT_ALLOWED', suggestion: 'Use DELETE or GET.' });
});

test.each([
  ['{"size":8', 'The request body is not valid JSON: the error is at line 1 column 10.'],
  ['{"size":8,\n}', 'The request body is not valid JSON: the error is at line 2 column 1.'],
  ['size=8 secret', 'The request body is not valid JSON.'],
  ['{"__proto__":{},"size":8}', 'The request body contains a key named __proto__ or constructor.'],
])('malformed JSON gets the position of the error without the content: %j', async (payload, message) => {
  const { fastify } = serverWith();
  const headers = { ...authorizedHeaders, 'content-type': 'application/json' };
  const response = await fastify.inject({ method: 'POST', url: '/v2/things', headers, payload });
  expect([response.statusCode, response.json().reason]).toEqual([400, 'MALFORMED_JSON']);
  expect(response.json().message).toBe(message);
});
