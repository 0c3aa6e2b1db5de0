import { defineOperation } from '@millrace/contract';
import type { Scope } from '@millrace/contract';
import { z } from 'zod';
import { systemClock } from '../clock/index.ts';
import type { Clock } from '../clock/index.ts';
import type { Db } from '../db/index.ts';
import { Fault } from '../fault/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createReferenceLimiter } from '../limiter/reference-limiter.ts';
import { createLogger } from '../log/index.ts';
import { createHttpServer } from './server.ts';
import type { HttpServer, HttpServerOptions, Principal } from './types.ts';

/** A small contract for tests of the HTTP server, with simple handlers. */

const item = z.object({ id: z.string(), size: z.int(), key: z.string().nullable() });
const statuses = [400, 401, 403, 404, 408, 409, 415, 429, 500, 503] as const;

const common = { document: 'v2', summary: 'A thing.', tags: ['things'], errors: statuses } as const;

export const getItem = defineOperation({
  ...common,
  id: 'getThing',
  method: 'GET',
  path: '/v2/alpha/things/{thingId}',
  aliases: ['/v2/things/{thingId}'],
  source: 'own',
  errorFamily: 'v2',
  auth: 'key',
  scope: 'rentals:read',
  params: z.object({ thingId: z.string().max(40) }),
  query: z.object({ limit: z.coerce.number().int().min(1).max(10).default(5) }),
  response: { status: 200, schema: item },
  idempotency: 'none',
});

export const createItem = defineOperation({
  ...common,
  id: 'createThing',
  method: 'POST',
  path: '/v2/things',
  source: 'own',
  errorFamily: 'v2',
  auth: 'key',
  scope: 'rentals:write',
  body: z.object({ size: z.int().multipleOf(8), color: z.enum(['red', 'blue']).optional() }),
  response: { status: 201, schema: item },
  idempotency: 'key',
  redactForReplay: ['key'],
});

export const createInterfaceItem = defineOperation({
  ...createItem,
  id: 'createInterfaceThing',
  path: '/v2/alpha/interface-things',
  source: 'interface',
});

export const chat = defineOperation({
  ...common,
  id: 'chat',
  method: 'POST',
  path: '/v1/chat',
  document: 'v1',
  source: 'interface',
  errorFamily: 'inference',
  auth: 'key',
  scope: null,
  body: z.object({ model: z.string() }),
  response: { status: 200, schema: z.object({ ok: z.boolean() }) },
  errors: [...statuses, 413, 422],
  idempotency: 'none',
});

export const market = defineOperation({
  ...common,
  id: 'market',
  method: 'POST',
  path: '/v1/marketplace',
  document: 'v1',
  source: 'interface',
  errorFamily: 'marketplace',
  auth: 'none',
  scope: null,
  body: z.object({ filters: z.object({}).optional() }),
  response: { status: 200, schema: z.object({ instances: z.array(z.string()) }), revalidates: true },
  idempotency: 'none',
});

export const receiveSignedEvent = defineOperation({
  ...common,
  id: 'hear',
  method: 'POST',
  path: '/v2/hear',
  source: 'own',
  errorFamily: 'v2',
  auth: 'none',
  scope: null,
  signedBody: true,
  body: z.object({ type: z.string() }),
  response: { status: 200, schema: z.object({ heard: z.string() }) },
  idempotency: 'none',
});

export const feed = defineOperation({
  ...common,
  id: 'feed',
  method: 'GET',
  path: '/v2/feed',
  source: 'own',
  errorFamily: 'v2',
  auth: 'key',
  scope: null,
  response: { status: 200, schema: z.object({ items: z.array(z.string()) }), sse: true },
  idempotency: 'none',
});

export const deleteItem = defineOperation({
  ...common,
  id: 'deleteThing',
  method: 'DELETE',
  path: '/v2/things/{thingId}',
  source: 'own',
  errorFamily: 'v2',
  auth: 'key',
  scope: null,
  params: z.object({ thingId: z.string() }),
  response: { status: 204, schema: z.undefined() },
  idempotency: 'none',
});

export const retired = defineOperation({
  ...common,
  id: 'retired',
  method: 'GET',
  path: '/v2/retired',
  source: 'own',
  errorFamily: 'v2',
  auth: 'key',
  scope: null,
  response: { status: 200, schema: z.object({}) },
  idempotency: 'none',
});

export const testContract = {
  operations: {
    getThing: getItem,
    createThing: createItem,
    createInterfaceThing: createInterfaceItem,
    chat,
    market,
    hear: receiveSignedEvent,
    feed,
    deleteThing: deleteItem,
    retired,
  },
  deprecations: {
    retired: {
      deprecatedAt: '2020-01-01T00:00:00Z',
      sunsetAt: '2021-01-01T00:00:00Z',
      successor: '/v2/things',
    },
  },
} as const;

export const ids = createIdSource({ clock: systemClock, cell: 1 });

export function testPrincipal(overrides: Partial<Principal> = {}): Principal {
  return {
    kind: 'key',
    keyId: ids.next('key'),
    orgId: ids.next('org'),
    userId: ids.next('usr'),
    mode: 'live',
    scopes: new Set<Scope>(['rentals:read', 'rentals:write']),
    platformRoles: new Set(),
    limits: { organisationRpm: 60, keyRpm: null },
    orgStatus: 'active',
    orgFunded: true,
    ...overrides,
  };
}

export interface TestServer extends HttpServer {
  readonly principal: Principal;
  /** All log lines. */
  readonly lines: readonly string[];
}

export const goodKey = 'good-key';

export function createTestServer(
  options: Partial<HttpServerOptions> & {
    readonly principal?: Principal;
    readonly clock?: Clock;
    readonly db?: Db;
  } = {},
): TestServer {
  const principal = options.principal ?? testPrincipal();
  const lines: string[] = [];
  const server = createHttpServer({
    contract: testContract,
    authenticate: ({ key }) =>
      key === goodKey ? Promise.resolve(principal) : Promise.reject(new Fault('INVALID_API_KEY')),
    // The time never advances, so counters never decrease.
    limiter: createReferenceLimiter({ nowMs: () => 0 }),
    log: createLogger({ name: 'test', level: 'trace', destination: { write: (line) => lines.push(line) } }),
    clock: systemClock,
    ids,
    trustedProxies: [],
    validateResponses: true,
    ...options,
  });
  return { ...server, principal, lines };
}

export const authorizedHeaders = { authorization: `Bearer ${goodKey}` } as const;
