import { describe, expect, it } from 'vitest';
import { defineOperation } from '@millrace/contract';
import { z } from 'zod';
import { Fault } from '../fault/index.ts';
import { actorOf, requireSessionUser, requirePrincipal } from './principal.ts';
import {
  authorizedHeaders,
  createTestServer,
  ids,
  testContract,
  testPrincipal,
} from './test-server.fixture.ts';
import type { HttpLimits, SessionUser, Sessions } from './types.ts';

const origin = 'https://cloud.example.com';
const token = 'a'.repeat(32);
const person: SessionUser = {
  userId: ids.next('usr'),
  sessionId: ids.next('ses'),
  email: 'ada@example.com',
  name: 'Ada',
};
const member = testPrincipal({ kind: 'session', userId: person.userId, scopes: new Set(['rentals:read']) });

/** Sessions with one valid token, which record their calls. */
function fakeSessions() {
  const requested: unknown[] = [];
  const sessions: Sessions = {
    origin,
    tokenIn: (cookies) => /session=(\w+)/.exec(cookies ?? '')?.[1] ?? null,
    person: async (presented) => {
      if (presented !== token) throw new Fault('SESSION_ENDED');
      return person;
    },
    member: async (presented, named) => {
      requested.push(named);
      if (presented !== token) throw new Fault('SESSION_ENDED');
      return { principal: member, person };
    },
  };
  return { sessions, requests: requested };
}

const whoAmI = defineOperation({
  id: 'whoAmI',
  method: 'GET',
  path: '/v2/who',
  document: 'v2',
  source: 'own',
  errorFamily: 'v2',
  auth: 'person',
  scope: null,
  summary: 'Who.',
  tags: ['things'],
  errors: [400, 401, 403, 429, 500, 503],
  response: { status: 200, schema: z.object({ userId: z.string() }) },
  idempotency: 'none',
});

const { getThing: getItem, createThing: createItem } = testContract.operations;

function serve(withSessions = true, limits: Partial<HttpLimits> = {}) {
  const { sessions, requests } = fakeSessions();
  const server = createTestServer({
    contract: { operations: { ...testContract.operations, whoAmI } },
    ...(withSessions ? { sessions } : {}),
    limits,
  });
  server.serve(whoAmI, async ({ context }) => ({ userId: requireSessionUser(context).userId }));
  server.serve(getItem, async ({ context }) => {
    const { kind, id } = actorOf(requirePrincipal(context));
    return { id: `${kind} ${id}`, size: 8, key: null };
  });
  server.serve(createItem, async () => ({ id: 'x', size: 8, key: null }));
  const send = async (url: string, headers: Record<string, string>, method: 'GET' | 'POST' = 'GET') => {
    const response = await server.fastify.inject({ method, url, headers });
    return { status: response.statusCode, json: response.json() as Record<string, unknown> };
  };
  return { send, requests };
}

const cookie = `session=${token}`;
const ownPage = { 'sec-fetch-site': 'same-origin' };

describe('a signed-in user', () => {
  it('has a separate rate limit over all organisations, independent of API keys', async () => {
    const member = { cookie, ...ownPage, 'millrace-organisation': 'org_1' };
    const { send } = serve(true, { personRpm: 2 });
    expect((await send('/v2/things/1', member)).status).toBe(200);
    expect((await send('/v2/who', { cookie, ...ownPage })).status).toBe(200);
    const refused = await send('/v2/things/1', member);
    expect([refused.status, refused.json['message']]).toEqual([429, expect.stringContaining('(person)')]);
  });

  it('is authenticated by cookie and by bearer token, and is the actor of the request', async () => {
    const { send, requests } = serve();
    for (const headers of [
      { cookie, ...ownPage },
      { cookie, origin },
      { authorization: `Bearer ${token}` },
    ]) {
      const response = await send('/v2/things/1', {
        ...headers,
        'millrace-organisation': 'org_1',
        'millrace-mode': 'test',
      });
      expect(response).toMatchObject({ status: 200, json: { id: `user ${person.userId}` } });
      expect((await send('/v2/who', headers)).json).toEqual({ userId: person.userId });
    }
    expect(requests).toEqual(Array(3).fill({ organisation: 'org_1', mode: 'test' }));
  });

  it('is authenticated by the header of the console if the browser sends neither fetch metadata nor an origin', async () => {
    const { send } = serve();
    const fromConsole = { cookie, 'millrace-console': '1' };
    expect((await send('/v2/things/1', fromConsole)).status).toBe(200);
    expect((await send('/v2/who', fromConsole)).json).toEqual({ userId: person.userId });
    for (const contradiction of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
      const { status, json } = await send('/v2/who', { ...fromConsole, ...contradiction });
      expect([status, json['reason']]).toEqual([403, 'CROSS_SITE_REQUEST']);
    }
  });

  it('gets an error about the role, not about a key, if a scope is missing', async () => {
    const { send } = serve();
    const { status, json } = await send('/v2/things', { cookie, ...ownPage }, 'POST');
    expect([status, json['reason'], json['requiredScope']]).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
      'rentals:write',
    ]);
    expect(json['message']).toContain('Your role');
  });

  it.each([
    ['from another site', { ...ownPage, 'sec-fetch-site': 'cross-site' }],
    ['from a site beside ours', { 'sec-fetch-site': 'same-site' }],
    ['typed into the address bar', { 'sec-fetch-site': 'none' }],
    ['with another origin', { ...ownPage, origin: 'https://evil.example' }],
    ['without any of these headers', {}],
  ])('is not authenticated by a cookie %s', async (_what, headers) => {
    const { send, requests } = serve();
    for (const url of ['/v2/things/1', '/v2/who']) {
      const { status, json } = await send(url, { cookie, ...headers });
      expect([status, json['reason']]).toEqual([403, 'CROSS_SITE_REQUEST']);
    }
    expect(requests).toEqual([]);
  });
});

describe('a caller without a session', () => {
  it('needs a session for operations with auth person, and a key or a session for others', async () => {
    const { send } = serve();
    const reasonOf = async (url: string, headers: Record<string, string>) =>
      (await send(url, headers)).json['reason'];
    expect(await reasonOf('/v2/who', {})).toBe('SESSION_ENDED');
    expect(await reasonOf('/v2/who', authorizedHeaders)).toBe('PERSON_REQUIRED');
    expect(await reasonOf('/v2/who', { authorization: 'Bearer wrong' })).toBe('INVALID_API_KEY');
    expect(await reasonOf('/v2/things/1', {})).toBe('MISSING_API_KEY');
    expect(await reasonOf('/v2/things/1', { 'millrace-organisation': 'org_1' })).toBe('SESSION_ENDED');
    expect(await reasonOf('/v2/things/1', { authorization: `Bearer ${'b'.repeat(32)}` })).toBe(
      'SESSION_ENDED',
    );
  });

  it('is authenticated by its API key even if the browser adds a cookie', async () => {
    const { send } = serve();
    const response = await send('/v2/things/1', { ...authorizedHeaders, cookie, ...ownPage });
    expect(String(response.json['id'])).toMatch(/^key /);
  });

  it('is refused with 401 if the server has no sessions', async () => {
    const { send } = serve(false);
    for (const headers of [{ authorization: `Bearer ${token}` }, { cookie, ...ownPage }]) {
      expect((await send('/v2/things/1', headers)).status).toBe(401);
    }
  });
});
