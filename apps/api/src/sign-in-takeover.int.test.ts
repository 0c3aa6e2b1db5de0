import { seedOrganisation } from '@millrace/core/fixture';
import { uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { findEmail, newAddress, openBrowser, linkPathIn, type Browser } from './browser.fixture.ts';
import { startApiFixture } from './api.fixture.ts';
import { startFakeOidcProvider } from './fake-oidc.fixture.ts';

// Attempts to take over or keep access to another user's account, and to find out whether an account exists.

const double = await startFakeOidcProvider('millrace');
const { discoveryUrl } = double;
const scopes = ['openid', 'email', 'profile'];
const named = { id: 'example', name: 'Example', clientId: 'millrace', clientSecret: 's' };
const fixture = await startApiFixture({ withMail: true, oidc: [{ ...named, discoveryUrl, scopes }] });
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await double[Symbol.asyncDispose]();
});

const password = 'correct horse battery';
const makeEmail = () => `taken-${uniqueId()}@example.com`;
const isIn = async (browser: Browser) => (await browser.get('/v2/me/sessions')).status === 200;

async function signUp(email: string, chosen = password): Promise<void> {
  const request = { name: 'Ada', email, password: chosen };
  expect((await openBrowser(fixture).post('/auth/sign-up/email', request)).status).toBe(200);
}

async function confirmed(): Promise<string> {
  const email = makeEmail();
  await signUp(email);
  await fixture.call({ method: 'GET', path: linkPathIn(await findEmail(fixture, email, /Confirm/)) });
  return email;
}

async function signedIn(email: string, chosen = password): Promise<Browser> {
  const browser = openBrowser(fixture);
  expect((await browser.post('/auth/sign-in/email', { email, password: chosen })).status).toBe(200);
  return browser;
}

async function chooseBy(email: string, newPassword: string): Promise<void> {
  const path = linkPathIn(await findEmail(fixture, email, /Choose your password/));
  const token = new URL(path, 'https://x').searchParams.get('token');
  const chosen = await openBrowser(fixture).post('/auth/reset-password', { token, newPassword });
  expect([chosen.status, chosen.text]).toEqual([200, chosen.text]);
}

/** Attempts to sign in by the OIDC provider. */
async function byProvider(who: {
  readonly sub: string;
  readonly email: string;
  readonly verified: boolean | string;
}): Promise<Browser> {
  const browser = openBrowser(fixture);
  const leaving = { provider: 'example', callbackURL: '/console/' };
  const { json } = await browser.post('/auth/sign-in/social', leaving);
  const { path } = double.signIn(String(json.url), { name: 'Eve', ...who });
  await browser.get(path, { 'sec-fetch-site': 'cross-site' });
  return browser;
}

describe('account that an attacker pre-registered with another user’s email address', () => {
  it('loses its password when the owner signs up, also if the owner opens the first email', async () => {
    const email = makeEmail();
    await signUp(email, 'the password of Eve');
    const first = linkPathIn(await findEmail(fixture, email, /Confirm/));
    await signUp(email, 'the password of Ada');
    await findEmail(fixture, email, /Choose your password/);
    await fixture.call({ method: 'GET', path: first });
    const eve = await openBrowser(fixture).post('/auth/sign-in/email', {
      email,
      password: 'the password of Eve',
    });
    expect(eve.status).toBe(401);
    await chooseBy(email, password);
    await signedIn(email);
  });

  it('loses its linked OIDC account', async () => {
    const email = makeEmail();
    const sub = uniqueId();
    expect(await isIn(await byProvider({ sub, email, verified: false }))).toBe(false);
    await signUp(email);
    await chooseBy(email, password);
    await signedIn(email);
    expect(await isIn(await byProvider({ sub, email, verified: false }))).toBe(false);
  });

  it('is not verified by a provider that sends "false" as text', async () => {
    const email = await confirmed();
    expect(await isIn(await byProvider({ sub: uniqueId(), email, verified: 'false' }))).toBe(false);
    expect(await isIn(await byProvider({ sub: uniqueId(), email, verified: 'true' }))).toBe(true);
  });
});

describe('password reset by email', () => {
  it('invalidates other emails and approved device codes that were not used yet', async () => {
    const email = await confirmed();
    const attacker = await signedIn(email);
    const body = { client_id: 'millrace-cli' };
    const { json } = await openBrowser(fixture).post('/auth/device/code', body);
    await attacker.get(`/auth/device?user_code=${String(json.user_code)}`);
    expect((await attacker.post('/auth/device/approve', { userCode: json.user_code })).status).toBe(200);
    await openBrowser(fixture).post('/auth/request-password-reset', { email });
    const older = linkPathIn(await findEmail(fixture, email, /Choose your password/));
    await openBrowser(fixture).post('/auth/request-password-reset', { email });
    await expect
      .poll(async () => linkPathIn(await findEmail(fixture, email, /Choose your password/)))
      .not.toBe(older);
    await chooseBy(email, 'a new password');
    const came = await openBrowser(fixture).post('/auth/device/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: json.device_code,
      client_id: 'millrace-cli',
    });
    expect([came.status, came.json.error]).toEqual([400, 'invalid_grant']);
    const token = new URL(older, 'https://x').searchParams.get('token');
    const again = { token, newPassword: 'the password of Eve' };
    expect((await openBrowser(fixture).post('/auth/reset-password', again)).status).toBe(400);
  });
});

describe('email that changes the address', () => {
  it('does not sign in a mail server that opens it, nor a user without the second factor', async () => {
    const email = await confirmed();
    const ada = await signedIn(email);
    const newEmail = makeEmail();
    await ada.post('/auth/change-email', { newEmail });
    await openBrowser(fixture).get(linkPathIn(await findEmail(fixture, email, /Change your email address/)));
    const outsider = openBrowser(fixture);
    const landed = await outsider.get(linkPathIn(await findEmail(fixture, newEmail, /Confirm/)));
    expect([landed.status, landed.headers['location']]).toEqual([302, '/console/verified']);
    expect(await isIn(outsider)).toBe(false);
    expect(await isIn(ada)).toBe(true);
    expect((await ada.get('/v2/me/sessions')).json.items).toHaveLength(1);
    await signedIn(newEmail);
  });
});

describe('sign-up', () => {
  it('sends no text of the caller’s choice by email', async () => {
    const email = makeEmail();
    const request = { name: 'Prizes at evil.example', email, password };
    await openBrowser(fixture).post('/auth/sign-up/email', request);
    await findEmail(fixture, email, /Confirm/);
    const message = fixture.smtp?.emails.findLast(({ to }) => to.includes(email));
    expect(JSON.stringify(message)).toContain(email);
    expect(JSON.stringify(message)).not.toContain('evil.example');
  });

  it.each([
    ['a name that is too long', { name: 'x'.repeat(201) }],
    ['no name', { name: ' ' }],
    ['a name with a NUL', { name: 'a\u0000b' }],
    ['an image with a NUL', { image: 'a\u0000b' }],
  ])('with %s responds alike for an address with an account', async (_what, change) => {
    const [known, unknown] = [await confirmed(), makeEmail()];
    const responses = [];
    for (const email of [known, unknown]) {
      const request = { name: 'Eve', email, password, ...change };
      const { status, json } = await openBrowser(fixture).post('/auth/sign-up/email', request);
      responses.push([status, json.code]);
    }
    expect(responses[0]).toEqual(responses[1]);
    expect(responses[0]?.[0]).toBe(400);
  });

  it('that is disabled does not reveal accounts', async () => {
    await using closed = await startApiFixture({ withMail: true, signUp: 'closed' });
    await seedOrganisation(closed.db);
    const { email: known } = await closed.db.kysely
      .selectFrom('users')
      .select('email')
      .executeTakeFirstOrThrow();
    for (const email of [known, makeEmail()]) {
      const request = { name: 'Eve', email, password };
      const { status, json } = await openBrowser(closed).post('/auth/sign-up/email', request);
      expect([status, json.code]).toEqual([400, 'SIGN_UP_CLOSED']);
    }
  });
});

describe('guessing another user’s password', () => {
  it('does not lock the user out of a known browser', async () => {
    const email = await confirmed();
    const own = await signedIn(email);
    await own.post('/auth/sign-out');
    const guess = (browser: Browser) =>
      browser.post('/auth/sign-in/email', { email, password: 'not the password' }, newAddress());
    for (let attempt = 0; attempt < 11; attempt += 1) await guess(openBrowser(fixture));
    const outsider = await openBrowser(fixture).post('/auth/sign-in/email', { email, password });
    expect(outsider.status).toBe(429);
    expect((await own.post('/auth/sign-in/email', { email, password })).status).toBe(200);
    await own.post('/auth/sign-out');
    // A known browser does not bypass the limit: it has its own, for this email address only.
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 12; attempt += 1) statuses.push((await guess(own)).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    const other = await confirmed();
    const eve = await signedIn(other);
    await eve.post('/auth/sign-out');
    expect((await guess(eve)).status).toBe(429);
  });
});

it('OIDC token of another sign-in is refused', async () => {
  const email = await confirmed();
  await byProvider({ sub: uniqueId(), email, verified: true });
  const { id_token: token } = await fixture.db.kysely
    .selectFrom('accounts')
    .innerJoin('users', 'users.id', 'accounts.user_id')
    .select('id_token')
    .where('users.email', '=', email)
    .where('id_token', 'is not', null)
    .executeTakeFirstOrThrow();
  const attacker = openBrowser(fixture);
  const response = await attacker.post('/auth/sign-in/social', { provider: 'example', idToken: { token } });
  expect(response.status).toBe(400);
  expect(await isIn(attacker)).toBe(false);
});

it('device sign-in with an unknown user id is a client error', async () => {
  const body = { client_id: 'millrace-cli', user_id: '0190a0a0-0000-7000-8000-000000000000' };
  const response = await openBrowser(fixture).post('/auth/device/code', body);
  expect(response.status).toBe(400);
});
