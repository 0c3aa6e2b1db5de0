import { seedOrganisation } from '@millrace/core/fixture';
import { uniqueId } from '@millrace/testing';
import { afterAll, expect, it } from 'vitest';
import { openBrowser, type Browser } from './browser.fixture.ts';
import { startApiFixture } from './api.fixture.ts';
import { startFakeOidcProvider } from './fake-oidc.fixture.ts';

// Sign-in with an OIDC provider.

const providers = () => [
  {
    ...{ id: 'example', name: 'Example', discoveryUrl: double.discoveryUrl },
    ...{ clientId: 'millrace', clientSecret: 's', scopes: ['openid', 'email', 'profile'] },
  },
];
const double = await startFakeOidcProvider('millrace');
const fixture = await startApiFixture({ withMail: true, oidc: providers() });
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await double[Symbol.asyncDispose]();
});

const someone = (verified = true) => {
  const id = uniqueId();
  return { sub: id, email: `oidc-${id}@example.com`, verified, name: 'Grace' };
};

async function leave(browser: Browser): Promise<string> {
  const request = { provider: 'example', callbackURL: '/console/' };
  const response = await browser.post('/auth/sign-in/social', request);
  expect([response.status, response.text]).toEqual([200, response.text]);
  return String(response.json.url);
}

/** The provider's redirect is a cross-site navigation. */
const comeBack = (browser: Browser, path: string) => browser.get(path, { 'sec-fetch-site': 'cross-site' });
const isIn = async (browser: Browser) => (await browser.get('/v2/me/sessions')).status === 200;

it('OIDC sign-in redirects to the provider and back, and creates the user the first time', async () => {
  expect((await fixture.call({ method: 'GET', path: '/v2/installation' })).json.oidc).toEqual([
    { id: 'example', name: 'Example' },
  ]);
  const grace = someone();
  for (let round = 0; round < 2; round += 1) {
    const browser = openBrowser(fixture);
    const { path } = double.signIn(await leave(browser), grace);
    const back = await comeBack(browser, path);
    expect([back.status, back.headers['location']]).toEqual([302, '/console/']);
    expect(await isIn(browser)).toBe(true);
    expect((await comeBack(browser, path)).headers['location']).toContain('error');
  }
  const people = await fixture.db.kysely
    .selectFrom('users')
    .select('email_verified')
    .where('email', '=', grace.email)
    .execute();
  expect(people).toEqual([{ email_verified: true }]);
});

it('OIDC sign-in refuses a forged token, the state of another browser and a foreign redirect', async () => {
  const browser = openBrowser(fixture);
  const { path } = double.signIn(await leave(browser), someone());
  const other = openBrowser(fixture);
  await comeBack(other, path);
  expect(await isIn(other)).toBe(false);
  double.forge(true);
  const forged = openBrowser(fixture);
  await comeBack(forged, double.signIn(await leave(forged), someone()).path);
  double.forge(false);
  expect(await isIn(forged)).toBe(false);
  const evil = await openBrowser(fixture).post('/auth/sign-in/social', {
    provider: 'example',
    callbackURL: 'https://evil.example',
  });
  expect(evil.status).toBe(403);
  expect((await openBrowser(fixture).post('/auth/sign-in/social', { provider: 'unknown' })).status).toBe(404);
});

it('OIDC sign-in does not link an account unless the provider verifies the email address and the account has confirmed it', async () => {
  const { owner } = await seedOrganisation(fixture.db);
  await fixture.givePassword(owner.userId, 'correct horse battery');
  const confirmed = await fixture.db.kysely
    .selectFrom('users')
    .select(['id', 'email'])
    .where('email_verified', '=', true)
    .where('email', 'like', 'owner-%')
    .executeTakeFirstOrThrow();
  await seedOrganisation(fixture.db);
  const unconfirmed = await fixture.db.kysely
    .selectFrom('users')
    .select(['id', 'email'])
    .where('email_verified', '=', false)
    .executeTakeFirstOrThrow();
  for (const who of [
    { ...someone(false), email: confirmed.email },
    { ...someone(true), email: unconfirmed.email },
  ]) {
    const browser = openBrowser(fixture);
    await comeBack(browser, double.signIn(await leave(browser), who).path);
    expect(await isIn(browser)).toBe(false);
  }
  const linked = openBrowser(fixture);
  const vouched = { ...someone(true), email: confirmed.email };
  await comeBack(linked, double.signIn(await leave(linked), vouched).path);
  expect(await isIn(linked)).toBe(true);
});

it('OIDC sign-in does not link an account that was created without email verification', async () => {
  await using withoutMail = await startApiFixture({ signUp: 'open', oidc: providers() });
  const grace = someone();
  const password = 'correct horse battery';
  const signUp = { name: 'Mallory', email: grace.email, password };
  expect((await openBrowser(withoutMail).post('/auth/sign-up/email', signUp)).status).toBe(200);
  // As older versions stored it.
  await withoutMail.db.kysely
    .updateTable('users')
    .set({ email_verified: true })
    .where('email', '=', grace.email)
    .execute();
  const browser = openBrowser(withoutMail);
  await comeBack(browser, double.signIn(await leave(browser), grace).path);
  expect(await isIn(browser)).toBe(false);
});
