import { seedOrganisation } from '@millrace/core/fixture';
import { systemClock } from '@millrace/platform/clock';
import { startStopwatch, uniqueId, scaledLimitMs } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { findEmail, newAddress, openBrowser, linkPathIn, totpAt, type Browser } from './browser.fixture.ts';
import { startApiFixture } from './api.fixture.ts';

// Sign-up to last session over HTTP, with real SMTP.

const fixture = await startApiFixture({ withMail: true });
afterAll(() => fixture[Symbol.asyncDispose]());

const password = 'correct horse battery';
const cookieName = '__Secure-millrace.session_token';
const makeEmail = () => `person-${uniqueId()}@example.com`;

async function signUp(email = makeEmail(), chosen = password): Promise<string> {
  const response = await openBrowser(fixture).post('/auth/sign-up/email', {
    name: 'Ada',
    email,
    password: chosen,
  });
  expect([response.status, response.text]).toEqual([200, response.text]);
  return email;
}

async function confirmed(): Promise<string> {
  const email = await signUp();
  const path = linkPathIn(await findEmail(fixture, email, /Confirm/));
  const landed = await fixture.call({ method: 'GET', path });
  expect([landed.status, landed.headers['location']]).toEqual([302, '/console/verified']);
  return email;
}

async function signedIn(email: string, chosen = password): Promise<Browser> {
  const browser = openBrowser(fixture);
  const response = await browser.post('/auth/sign-in/email', { email, password: chosen });
  expect([response.status, response.text]).toEqual([200, response.text]);
  return browser;
}

const isIn = async (browser: Browser) => (await browser.get('/v2/me/sessions')).status === 200;

describe('sign-up', () => {
  it('leads by a confirmation email to an own organisation', async () => {
    const email = await signUp();
    const browser = openBrowser(fixture);
    const early = await browser.post('/auth/sign-in/email', { email, password });
    expect([early.status, early.json.code]).toEqual([403, 'EMAIL_NOT_VERIFIED']);
    await fixture.call({ method: 'GET', path: linkPathIn(await findEmail(fixture, email, /Confirm/)) });
    expect((await browser.post('/auth/sign-in/email', { email, password })).status).toBe(200);
    const made = await browser.post('/v2/organisations', { name: 'Ada and friends' });
    expect(made.status).toBe(201);
    const organisation = made.json.organisation.id as string;
    const me = await browser.get('/v2/me', { 'millrace-organisation': organisation });
    expect(me.json).toMatchObject({ user: { email }, role: 'owner', mode: 'live', key: null });
  });

  it('sets an HttpOnly SameSite cookie and returns no token', async () => {
    const browser = openBrowser(fixture);
    const response = await browser.post('/auth/sign-in/email', { email: await confirmed(), password });
    const line = browser.lastSet.find((each) => each.startsWith(cookieName)) ?? '';
    expect(line).toMatch(/; Path=\/(;|$)/i);
    for (const attribute of ['HttpOnly', 'Secure', 'SameSite=Lax']) expect(line).toContain(`; ${attribute}`);
    expect(line).not.toMatch(/domain=/i);
    const token = decodeURIComponent(browser.cookies.get(cookieName) ?? '').split('.')[0] ?? '';
    expect(token).toHaveLength(32);
    const session = await browser.get('/auth/get-session');
    const sessions = await browser.get('/v2/me/sessions');
    for (const { text } of [response, session, sessions]) expect(text).not.toContain(token);
    expect(fixture.logs()).not.toContain(token);
    const rows = await fixture.db.kysely
      .selectFrom('sessions')
      .select('id')
      .where('token', '=', token)
      .execute();
    expect(rows).toEqual([]);
  });

  it('does not reveal whether an address has an account', async () => {
    const email = await confirmed();
    const again = await openBrowser(fixture).post('/auth/sign-up/email', {
      name: 'Eve',
      email,
      password: 'another password',
    });
    const fresh = await openBrowser(fixture).post('/auth/sign-up/email', {
      name: 'Eve',
      email: makeEmail(),
      password,
    });
    const shape = (text: string) => Object.keys(JSON.parse(text).user).toSorted();
    expect([again.status, shape(again.text)]).toEqual([fresh.status, shape(fresh.text)]);
    expect(await findEmail(fixture, email, /already/)).toContain('/console/sign-in');
    await signedIn(email);
    const wrong = await openBrowser(fixture).post('/auth/sign-in/email', {
      email,
      password: 'wrong password',
    });
    const absent = await openBrowser(fixture).post('/auth/sign-in/email', { email: makeEmail(), password });
    expect([wrong.status, wrong.text]).toEqual([absent.status, absent.text]);
    for (const recipient of [email, makeEmail()]) {
      const response = await openBrowser(fixture).post('/auth/request-password-reset', { email: recipient });
      expect(response.json).toEqual({ status: true, message: expect.any(String) });
    }
  });

  it('gives an address to its owner, also after another user used it', async () => {
    const email = await signUp(makeEmail(), 'the password of Eve');
    await signUp(email, 'the password of Ada');
    const path = linkPathIn(await findEmail(fixture, email, /Choose your password/));
    expect(path).toMatch(/^\/console\/reset-password\?token=/);
    const token = new URL(path, 'https://x').searchParams.get('token');
    const reset = await openBrowser(fixture).post('/auth/reset-password', { token, newPassword: password });
    expect(reset.status).toBe(200);
    await signedIn(email);
    const eve = await openBrowser(fixture).post('/auth/sign-in/email', {
      email,
      password: 'the password of Eve',
    });
    expect(eve.status).toBe(401);
  });

  it.each([
    ['a short password', { password: 'too short' }],
    ['a long one', { password: 'x'.repeat(129) }],
    ['no email address', { email: 'nowhere' }],
    ['no name', { name: '   ' }],
    ['a name with a NUL', { name: 'a\u0000b' }],
  ])('refuses %s', async (_what, change) => {
    const request = { name: 'Ada', email: makeEmail(), password, ...change };
    const response = await openBrowser(fixture).post('/auth/sign-up/email', request);
    expect([400, 422]).toContain(response.status);
  });
});

describe('password', () => {
  it('reset signs out all sessions, and its email works once', async () => {
    const email = await confirmed();
    const before = await signedIn(email);
    await openBrowser(fixture).post('/auth/request-password-reset', { email });
    const path = linkPathIn(await findEmail(fixture, email, /Choose your password/));
    const token = new URL(path, 'https://x').searchParams.get('token');
    const choose = () =>
      openBrowser(fixture).post('/auth/reset-password', { token, newPassword: 'a new password' });
    expect((await choose()).status).toBe(200);
    expect((await choose()).status).toBe(400);
    await signedIn(email, 'a new password');
    await expect.poll(() => isIn(before)).toBe(false);
  });

  it('change ends other sessions on request', async () => {
    const email = await confirmed();
    const [here, there] = [await signedIn(email), await signedIn(email)];
    const request = { currentPassword: password, newPassword: 'a new password', revokeOtherSessions: true };
    expect((await here.post('/auth/change-password', { ...request, currentPassword: 'wrong' })).status).toBe(
      400,
    );
    expect((await here.post('/auth/change-password', request)).status).toBe(200);
    expect(await isIn(here)).toBe(true);
    await expect.poll(() => isIn(there)).toBe(false);
  });
});

describe('email address', () => {
  it('change needs approval by the old and confirmation by the new address', async () => {
    const email = await confirmed();
    const newEmail = makeEmail();
    const browser = await signedIn(email);
    expect((await browser.post('/auth/change-email', { newEmail })).status).toBe(200);
    const leave = linkPathIn(await findEmail(fixture, email, /Change your email address/));
    expect((await browser.get(leave)).status).toBe(302);
    await signedIn(email);
    const proof = linkPathIn(await findEmail(fixture, newEmail, /Confirm/));
    expect((await browser.get(proof)).status).toBe(302);
    await signedIn(newEmail);
    const old = await openBrowser(fixture).post('/auth/sign-in/email', { email, password });
    expect(old.status).toBe(401);
  });

  it('of another user cannot be taken, and the response does not reveal its use', async () => {
    const [ada, eve] = [await confirmed(), await confirmed()];
    const browser = await signedIn(eve);
    expect((await browser.post('/auth/change-email', { newEmail: ada })).status).toBe(200);
    await signedIn(ada);
    await signedIn(eve);
  });
});

describe('second factor', () => {
  async function withTotp() {
    const email = await confirmed();
    const browser = await signedIn(email);
    const enabled = await browser.post('/auth/two-factor/enable', { password });
    const { totpURI, backupCodes } = enabled.json as { totpURI: string; backupCodes: string[] };
    const secret = new URL(totpURI).searchParams.get('secret') ?? '';
    const first = await browser.post('/auth/two-factor/verify-totp', { code: totpAt(secret, Date.now()) });
    expect([first.status, first.text]).toEqual([200, first.text]);
    return { email, secret, backupCodes };
  }

  it('is required after the password, with no access before', async () => {
    const { email, secret } = await withTotp();
    const browser = openBrowser(fixture);
    const half = await browser.post('/auth/sign-in/email', { email, password });
    expect(half.json).toMatchObject({ twoFactorRedirect: true, twoFactorMethods: ['totp'] });
    expect(browser.cookies.has(cookieName)).toBe(false);
    expect(await isIn(browser)).toBe(false);
    const wrong = await browser.post('/auth/two-factor/verify-totp', { code: '000000' });
    expect(wrong.status).toBe(401);
    const right = await browser.post('/auth/two-factor/verify-totp', { code: totpAt(secret, Date.now()) });
    expect([right.status, await isIn(browser)]).toEqual([200, true]);
    expect(right.json).not.toHaveProperty('token');
  });

  it('accepts each recovery code once', async () => {
    const { email, backupCodes } = await withTotp();
    const [code] = backupCodes;
    const use = async () => {
      const browser = openBrowser(fixture);
      await browser.post('/auth/sign-in/email', { email, password });
      return browser.post('/auth/two-factor/verify-backup-code', { code });
    };
    expect((await use()).status).toBe(200);
    expect((await use()).status).toBe(401);
  });

  it('allows five codes per challenge and then locks temporarily', async () => {
    const { email, secret } = await withTotp();
    const browser = openBrowser(fixture);
    await browser.post('/auth/sign-in/email', { email, password });
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      statuses.push((await browser.post('/auth/two-factor/verify-totp', { code: '000000' })).status);
    }
    const right = await browser.post('/auth/two-factor/verify-totp', { code: totpAt(secret, Date.now()) });
    expect(right.status).toBeGreaterThanOrEqual(400);
    expect(await isIn(browser)).toBe(false);
    expect(statuses.every((status) => status >= 400)).toBe(true);
  });
});

describe('device sign-in', () => {
  const poll = (deviceCode: string) =>
    fixture.call({
      method: 'POST',
      path: '/auth/device/token',
      headers: newAddress(),
      body: {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: deviceCode,
        client_id: 'millrace-cli',
      },
    });
  const getCode = () =>
    fixture.call({
      method: 'POST',
      path: '/auth/device/code',
      headers: { ...newAddress(), 'user-agent': 'millrace-cli/1.0' },
      body: { client_id: 'millrace-cli' },
    });
  /** Skips the polling interval. */
  const pausePasses = () =>
    fixture.db.kysely.updateTable('device_codes').set({ last_polled_at: null }).execute();

  it('is approved once by a user in a browser', async () => {
    const issued = await getCode();
    expect(issued.json).toMatchObject({
      verification_uri: 'https://cloud.example.com/console/device',
      expires_in: 600,
      interval: 5,
    });
    const { device_code: deviceCode, user_code: userCode } = issued.json as Record<string, string>;
    const early = await poll(deviceCode ?? '');
    expect([early.status, early.json.error]).toEqual([400, 'authorization_pending']);
    const browser = await signedIn(await confirmed());
    expect(issued.json).not.toHaveProperty('verification_uri_complete');
    const found = await browser.get(`/auth/device?user_code=${userCode}`);
    expect([found.status, found.json.requestedFrom]).toEqual([
      200,
      { ip: expect.any(String), userAgent: 'millrace-cli/1.0', at: expect.stringMatching(/^\d{4}-/) },
    ]);
    for (const other of [openBrowser(fixture), await signedIn(await confirmed())])
      expect((await other.get(`/auth/device?user_code=${userCode}`)).json).not.toHaveProperty(
        'requestedFrom',
      );
    expect((await browser.post('/auth/device/approve', { userCode })).status).toBe(200);
    await pausePasses();
    const granted = await poll(deviceCode ?? '');
    expect(granted.json).toMatchObject({
      token_type: 'Bearer',
      access_token: expect.stringMatching(/^\w{32}$/),
    });
    const authorization = `Bearer ${String(granted.json.access_token)}`;
    const sessions = await fixture.call({
      method: 'GET',
      path: '/v2/me/sessions',
      headers: { authorization },
    });
    expect(sessions.json.items).toHaveLength(2);
    const own = sessions.json.items.find(({ current }: { current: boolean }) => current);
    expect(Date.parse(own.expiresAt) - Date.parse(own.createdAt)).toBeLessThanOrEqual(3_600_000);
    expect((await poll(deviceCode ?? '')).status).toBe(400);
    expect(await fixture.db.kysely.selectFrom('device_codes').selectAll().execute()).toEqual([]);
  });

  it('is limited to a number of codes per address, without using other sign-in attempts there', async () => {
    const headers = newAddress();
    const request = {
      method: 'POST',
      path: '/auth/device/code',
      headers,
      body: { client_id: 'millrace-cli' },
    } as const;
    // One of the hundred codes is refilled every nine seconds, so a slow machine can get a few more.
    const startedMs = systemClock.monotonicMs();
    let [granted, status] = [0, 200];
    while (granted < 1_000 && status === 200) {
      ({ status } = await fixture.call(request));
      if (status === 200) granted += 1;
    }
    expect(status).toBe(429);
    expect(granted).toBeGreaterThanOrEqual(100);
    expect(granted).toBeLessThanOrEqual(100 + Math.ceil((systemClock.monotonicMs() - startedMs) / 9_000));
    const body = { email: makeEmail(), password };
    const tried = await fixture.call({ method: 'POST', path: '/auth/sign-in/email', headers, body });
    expect(tried.status).toBe(401);
  });

  it('cannot be approved by someone who only saw the code, nor collected by another program', async () => {
    const { user_code: userCode, device_code: deviceCode } = (await getCode()).json as Record<string, string>;
    expect((await openBrowser(fixture).post('/auth/device/approve', { userCode })).status).toBe(401);
    const [ada, eve] = [await signedIn(await confirmed()), await signedIn(await confirmed())];
    await ada.get(`/auth/device?user_code=${userCode}`);
    expect((await eve.post('/auth/device/approve', { userCode })).status).toBe(403);
    expect((await ada.post('/auth/device/deny', { userCode })).status).toBe(200);
    expect((await poll(deviceCode ?? '')).json.error).toBe('access_denied');
    const other = await fixture.call({
      method: 'POST',
      path: '/auth/device/code',
      body: { client_id: 'other' },
    });
    expect(other.json.error).toBe('invalid_client');
  });
});

describe('sessions', () => {
  it('are listed and ended one by one by their user and refused within a second', async () => {
    const email = await confirmed();
    const [here, there] = [await signedIn(email), await signedIn(email)];
    const items = (await here.get('/v2/me/sessions')).json.items as { id: string; current: boolean }[];
    expect(items.filter(({ current }) => current)).toHaveLength(1);
    expect(items).toHaveLength(2);
    const other = items.find(({ current }) => !current)?.id ?? '';
    expect(await isIn(there)).toBe(true);
    const stopwatch = startStopwatch();
    const [name, value] = [...here.cookies].find(([each]) => each === cookieName) ?? ['', ''];
    const ended = await fixture.call({
      method: 'DELETE',
      path: `/v2/me/sessions/${other}`,
      headers: { cookie: `${name}=${value}`, 'sec-fetch-site': 'same-origin' },
    });
    expect(ended.status).toBe(204);
    await expect.poll(() => isIn(there), { interval: 20 }).toBe(false);
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
    expect(await isIn(here)).toBe(true);
  });

  it('end on the server at sign-out', async () => {
    const browser = await signedIn(await confirmed());
    const cookies = new Map(browser.cookies);
    const stopwatch = startStopwatch();
    expect((await browser.post('/auth/sign-out')).status).toBe(200);
    expect(browser.cookies.has(cookieName)).toBe(false);
    const cookie = `${cookieName}=${cookies.get(cookieName) ?? ''}`;
    const again = () =>
      fixture.call({
        method: 'GET',
        path: '/v2/me/sessions',
        headers: { cookie, 'sec-fetch-site': 'same-origin' },
      });
    await expect.poll(async () => (await again()).status).toBe(401);
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
  });

  it('are always new after sign-in, never fixated', async () => {
    const email = await confirmed();
    const eve = await signedIn(await confirmed());
    const inserted = eve.cookies.get(cookieName) ?? '';
    const browser = openBrowser(fixture);
    const response = await browser.post(
      '/auth/sign-in/email',
      { email, password },
      { cookie: `${cookieName}=${inserted}` },
    );
    expect(response.status).toBe(200);
    expect(browser.cookies.get(cookieName)).not.toBe(inserted);
    const { json } = await eve.get('/auth/get-session');
    expect(json.user.email).not.toBe(email);
  });

  it('expire', async () => {
    const { owner, organisation } = await seedOrganisation(fixture.db);
    const session = await fixture.signInAs(owner.userId);
    const me = () =>
      fixture.call({ method: 'GET', path: '/v2/me', headers: session.headers(organisation.id) });
    expect((await me()).status).toBe(200);
    await fixture.db.kysely
      .updateTable('sessions')
      .set({ expires_at: new Date(Date.now() - 60_000) })
      .execute();
    const stopwatch = startStopwatch();
    await expect.poll(async () => (await me()).json.reason).toBe('SESSION_ENDED');
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
  });
});
