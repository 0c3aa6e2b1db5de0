import { seedOrganisation } from '@millrace/core/fixture';
import { uniqueId, type CallResponse } from '@millrace/testing';
import { systemClock } from '@millrace/platform/clock';
import { afterAll, describe, expect, it } from 'vitest';
import { newAddress, openBrowser } from './browser.fixture.ts';
import { startApiFixture } from './api.fixture.ts';
import { fixturePublicUrl, sessionCookie } from './users.fixture.ts';

// Attacks on sign-in: cross-site requests, guessing and malicious input.

const fixture = await startApiFixture({ withMail: true });
const acme = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

const outcome = ({ status, json }: CallResponse) => [status, json?.reason ?? json?.code];
const makeEmail = () => `hostile-${uniqueId()}@example.com`;

describe('cross-site page', () => {
  const crossSite = [
    ['with sec-fetch-site cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['of the same site', { 'sec-fetch-site': 'same-site' }],
    ['with another origin', { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }],
    ['with an origin that starts with the public URL', { origin: `${fixturePublicUrl}.evil.example` }],
    ['with the public origin over HTTP', { origin: 'http://cloud.example.com' }],
    ['with a null origin', { origin: 'null' }],
    ['in an old browser without these headers', {}],
  ] as const;

  it.each(crossSite)('%s cannot use the session cookie on an operation', async (_what, headers) => {
    const session = await fixture.signInAs(acme.owner.userId);
    const { cookie = '' } = session.headers();
    const named = { cookie, 'millrace-organisation': acme.organisation.id };
    for (const method of ['GET', 'POST'] as const) {
      const path = method === 'GET' ? '/v2/me' : '/v2/api-keys';
      const response = await fixture.call({ method, path, headers: { ...named, ...headers } });
      expect(outcome(response)).toEqual([403, 'CROSS_SITE_REQUEST']);
    }
  });

  it.each(crossSite.filter(([, headers]) => Object.keys(headers).length > 0))(
    '%s cannot sign a user in or out, with or without the cookie',
    async (_what, headers) => {
      const session = await fixture.signInAs(acme.owner.userId);
      const { cookie = '' } = session.headers();
      for (const sent of [headers, { ...headers, cookie }]) {
        for (const path of ['/auth/sign-in/email', '/auth/sign-out', '/auth/sign-up/email']) {
          const body = { name: 'Eve', email: makeEmail(), password: 'correct horse battery' };
          const response = await fixture.call({ method: 'POST', path, body, headers: sent });
          expect(outcome(response)).toEqual([403, 'CROSS_SITE_REQUEST']);
        }
      }
      const still = await fixture.call({
        method: 'GET',
        path: '/v2/me/sessions',
        headers: session.headers(),
      });
      expect(still.status).toBe(200);
    },
  );

  it('gets no CORS headers', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    for (const path of ['/v2/me', '/auth/sign-in/email']) {
      const response = await fixture.api.server.fastify.inject({ method: 'OPTIONS', url: path, headers });
      expect(response.headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it('is not accepted as the target of an email link', async () => {
    const request = { name: 'Ada', email: makeEmail(), password: 'correct horse battery' };
    for (const callbackURL of ['https://evil.example', '//evil.example', '/\\evil.example']) {
      const response = await openBrowser(fixture).post(
        '/auth/sign-up/email',
        { ...request, callbackURL },
        newAddress(),
      );
      expect(response.status).toBe(403);
    }
  });
});

describe('guessing', () => {
  it('is limited to ten attempts per email address from any client, with or without an account', async () => {
    const { email } = await fixture.db.kysely
      .selectFrom('users')
      .select('email')
      .where('email', 'like', 'owner-%')
      .executeTakeFirstOrThrow();
    const endings: unknown[] = [];
    for (const target of [email, makeEmail()]) {
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 12; attempt += 1) {
        const body = {
          email: attempt % 2 === 0 ? target : target.toUpperCase(),
          password: 'not the password',
        };
        const response = await openBrowser(fixture).post('/auth/sign-in/email', body, newAddress());
        statuses.push(response.status);
        if (attempt === 11) {
          expect(response.headers['retry-after']).toBeDefined();
          endings.push([response.json.reason, response.json.limit.name]);
        }
      }
      expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    }
    expect(endings[0]).toEqual(endings[1]);
  });

  it('is counted exactly for concurrent attempts', async () => {
    const email = makeEmail();
    const responses = await Promise.all(
      Array.from({ length: 25 }, () =>
        openBrowser(fixture).post(
          '/auth/sign-in/email',
          { email, password: 'not the password' },
          newAddress(),
        ),
      ),
    );
    expect(responses.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(10);
    expect(responses.filter(({ status }) => ![401, 429, 503].includes(status))).toEqual([]);
  });

  it('is limited to a hundred attempts per client address over any number of email addresses', async () => {
    const address = newAddress();
    const request = () => ({ token: uniqueId(), newPassword: 'a new password' });
    const codes: CallResponse[] = [];
    const startedMs = systemClock.monotonicMs();
    // Every attempt is counted. An overloaded machine refuses instead, so those requests are repeated.
    for (let round = 0; round < 10 && !codes.some(({ status }) => status === 429); round += 1) {
      const tries = Array.from({ length: 30 }, () =>
        openBrowser(fixture).post('/auth/reset-password', request(), address),
      );
      codes.push(...(await Promise.all(tries)));
    }
    const checked = codes.filter(({ status }) => status === 400);
    // The budget of a hundred in 15 minutes refills by one every nine seconds.
    const refilled = Math.ceil((systemClock.monotonicMs() - startedMs) / 9_000);
    expect(checked.length).toBeLessThanOrEqual(100 + refilled);
    expect(codes.filter(({ status }) => ![400, 429, 503].includes(status))).toEqual([]);
    expect(codes.some(({ status }) => status === 429)).toBe(true);
  });

  it('does not send an unlimited number of emails to an address', async () => {
    const email = makeEmail();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 7; attempt += 1) {
      const response = await openBrowser(fixture).post(
        '/auth/request-password-reset',
        { email },
        newAddress(),
      );
      statuses.push(response.status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  it('limit does not block a user who knows the password', async () => {
    const person = await seedOrganisation(fixture.db);
    const { email } = await fixture.db.kysely
      .selectFrom('users')
      .innerJoin('members', 'members.user_id', 'users.id')
      .select('users.email')
      .orderBy('users.created_at', 'desc')
      .executeTakeFirstOrThrow();
    await fixture.givePassword(person.owner.userId, 'correct horse battery');
    for (let attempt = 0; attempt < 13; attempt += 1) {
      const response = await openBrowser(fixture).post(
        '/auth/sign-in/email',
        { email, password: 'correct horse battery' },
        newAddress(),
      );
      expect(response.status).toBe(200);
    }
  });
});

describe('session token', () => {
  it('that is unsigned, or is the stored hash, is refused', async () => {
    const session = await fixture.signInAs(acme.owner.userId);
    const { cookie = '' } = session.headers();
    const { token: stored } = await fixture.db.kysely
      .selectFrom('sessions')
      .select('token')
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow();
    const forged = [
      cookie.replace(/%3D$/, ''),
      cookie.slice(0, -8) + 'AAAAA%3D',
      `${cookie.split('=')[0]}=${session.token}`,
      `${cookie.split('=')[0]}=%ZZ`,
      `${cookie.split('=')[0]}=${'a'.repeat(6_000)}`,
      sessionCookie(stored),
      sessionCookie(stored.slice(0, 32)),
      sessionCookie("' or '1'='1"),
    ];
    for (const each of forged) {
      const headers = {
        cookie: each,
        'sec-fetch-site': 'same-origin',
        'millrace-organisation': acme.organisation.id,
      };
      expect(outcome(await fixture.call({ method: 'GET', path: '/v2/me', headers }))).toEqual([
        401,
        'SESSION_ENDED',
      ]);
    }
    for (const bearer of [stored, stored.slice(0, 32), 'x'.repeat(32), `${session.token}0`]) {
      const headers = { authorization: `Bearer ${bearer}`, 'millrace-organisation': acme.organisation.id };
      expect((await fixture.call({ method: 'GET', path: '/v2/me', headers })).status).toBe(401);
    }
  });

  it('is ignored if the request also has an API key', async () => {
    const other = await seedOrganisation(fixture.db);
    const session = await fixture.signInAs(acme.owner.userId);
    const headers = { ...session.headers(acme.organisation.id), authorization: `Bearer ${other.owner.key}` };
    const me = await fixture.call({ method: 'GET', path: '/v2/me', headers });
    expect(me.json.organisation.id).toBe(other.organisation.id);
  });

  it.each(['', 'org_', 'ORG_01', '../admin', 'org_00000000000000000000000000 or 1=1', '*'])(
    'does not accept %j as an organisation',
    async (organisation) => {
      const session = await fixture.signInAs(acme.owner.userId);
      const response = await fixture.call({
        method: 'GET',
        path: '/v2/me',
        headers: session.headers(organisation),
      });
      expect(outcome(response)).toEqual([400, 'ORGANISATION_REQUIRED']);
    },
  );

  it('accepts only the modes live and test', async () => {
    const session = await fixture.signInAs(acme.owner.userId);
    const headers = { ...session.headers(acme.organisation.id), 'millrace-mode': 'both' };
    expect(outcome(await fixture.call({ method: 'GET', path: '/v2/me', headers }))).toEqual([
      400,
      'ORGANISATION_REQUIRED',
    ]);
  });
});

describe('sign-in requests', () => {
  it.each([
    'GET /auth/list-sessions',
    'POST /auth/revoke-sessions',
    'POST /auth/delete-user',
    'POST /auth/update-session',
    'POST /auth/link-social',
    'GET /auth/ok',
    'GET /auth/error',
    'GET /auth/reset-password/abc',
    'GET /auth/sign-in/email',
    'POST /auth//sign-in/email',
    'POST /auth/organization/create',
    'GET /auth/callback/../ok',
  ])('%s is not served', async (line) => {
    const [method = '', path = ''] = line.split(' ');
    const session = await fixture.signInAs(acme.owner.userId);
    const headers = { ...session.headers(), origin: fixturePublicUrl };
    const response = await fixture.call({
      method: method as 'GET',
      path,
      headers,
      ...(method === 'POST' ? { body: {} } : {}),
    });
    expect(response.status).toBe(404);
  });

  it('accept JSON up to the size limit and never fail with 5xx', async () => {
    const paths = [
      '/sign-up/email',
      '/sign-in/email',
      '/reset-password',
      '/change-password',
      '/update-user',
      '/device/code',
      '/device/token',
      '/device/approve',
      '/passkey/delete-passkey',
      '/passkey/verify-authentication',
      '/two-factor/verify-totp',
      '/two-factor/enable',
      '/sign-in/social',
      '/change-email',
      '/send-verification-email',
    ];
    const nasty: unknown[] = [
      {},
      [],
      null,
      'text',
      { email: { $ne: null }, password: { $ne: null } },
      { email: ['a@example.com'], password: ['x'] },
      { email: 'a\u0000b@example.com', password: 'a password\u0000 with a NUL', name: '\u0000' },
      { email: `${'a'.repeat(5_000)}@example.com`, password: 'x'.repeat(5_000), name: 'x'.repeat(5_000) },
      { client_id: 'millrace-cli', user_id: 'not a uuid', scope: 'x'.repeat(3_000) },
      { id: "1'; drop table users; --", userCode: '\u0000', code: '\u202e', token: '\u0000' },
      { provider: '__proto__', providerId: 'constructor', callbackURL: 'javascript:alert(1)' },
      {
        name: 'x',
        image: 'javascript:alert(1)',
        emailVerified: true,
        twoFactorEnabled: true,
        id: uniqueId(),
      },
      { newEmail: 'b\r\nBcc: all@example.com', newPassword: 7, currentPassword: null },
    ];
    const session = await fixture.signInAs(acme.owner.userId);
    for (const path of paths) {
      for (const body of nasty) {
        const headers = { ...session.headers(), origin: fixturePublicUrl, ...newAddress() };
        const response = await fixture.call({ method: 'POST', path: `/auth${path}`, body, headers });
        expect([path, JSON.stringify(body).slice(0, 80), response.status < 500]).toEqual([
          path,
          JSON.stringify(body).slice(0, 80),
          true,
        ]);
      }
    }
    const forged = await fixture.db.kysely
      .selectFrom('users')
      .select('id')
      .where('email_verified', '=', true)
      .where('name', '=', 'x')
      .execute();
    expect(forged).toEqual([]);
  });

  it.each([
    ['a form', 'application/x-www-form-urlencoded', 'email=a&password=b', 'UNSUPPORTED_MEDIA_TYPE'],
    ['text', 'text/plain', '{"email":"a"}', 'UNSUPPORTED_MEDIA_TYPE'],
    ['broken JSON', 'application/json', '{"email":', 'MALFORMED_JSON'],
    ['a prototype', 'application/json', '{"__proto__":{"emailVerified":true}}', 'MALFORMED_JSON'],
    ['too much', 'application/json', JSON.stringify({ email: 'x'.repeat(70_000) }), 'BODY_TOO_LARGE'],
  ])('are refused for %s', async (_what, contentType, payload, reason) => {
    const headers = {
      'content-type': contentType,
      origin: fixturePublicUrl,
      'sec-fetch-site': 'same-origin',
    };
    const response = await fixture.api.server.fastify.inject({
      method: 'POST',
      url: '/auth/sign-in/email',
      headers,
      payload,
    });
    const status = reason === 'UNSUPPORTED_MEDIA_TYPE' ? 415 : 400;
    expect([response.statusCode, response.json().reason]).toEqual([status, reason]);
  });
});
