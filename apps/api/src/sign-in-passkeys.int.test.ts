import { seedOrganisation } from '@millrace/core/fixture';
import { afterAll, expect, it } from 'vitest';
import { openBrowser, type Browser } from './browser.fixture.ts';
import { startApiFixture } from './api.fixture.ts';
import { createPasskey, type Passkey } from './passkey.fixture.ts';
import { sessionCookie } from './users.fixture.ts';

// Passkeys with a simulated authenticator.

const fixture = await startApiFixture();
afterAll(() => fixture[Symbol.asyncDispose]());

async function someoneSignedIn(): Promise<Browser> {
  const { owner } = await seedOrganisation(fixture.db);
  await fixture.givePassword(owner.userId, 'correct horse battery');
  const { token } = await fixture.signInAs(owner.userId);
  const [name = '', value = ''] = sessionCookie(token).split(/=(.*)/s);
  return openBrowser(fixture, new Map([[name, value]]));
}

async function register(browser: Browser, passkey: Passkey, origin?: string) {
  const options = await browser.get('/auth/passkey/generate-register-options?name=Laptop');
  expect([options.status, options.text]).toEqual([200, options.text]);
  return browser.post('/auth/passkey/verify-registration', {
    name: 'Laptop',
    response: passkey.register(options.json as { challenge: string }, origin),
  });
}

async function signIn(browser: Browser, passkey: Passkey, origin?: string) {
  const options = await browser.get('/auth/passkey/generate-authenticate-options');
  const response = passkey.authenticate(options.json as { challenge: string }, origin);
  return { reply: await browser.post('/auth/passkey/verify-authentication', { response }), response };
}

const isIn = async (browser: Browser) => (await browser.get('/v2/me/sessions')).status === 200;

it('passkey is created by a signed-in user and signs in elsewhere without a password', async () => {
  const browser = await someoneSignedIn();
  const passkey = createPasskey();
  const made = await register(browser, passkey);
  expect([made.status, made.text]).toEqual([200, made.text]);
  const listed = await browser.get('/auth/passkey/list-user-passkeys');
  expect(listed.json).toMatchObject([{ name: 'Laptop' }]);
  const otherBrowser = openBrowser(fixture);
  const { reply, response } = await signIn(otherBrowser, passkey);
  expect([reply.status, reply.text]).toEqual([200, reply.text]);
  expect(reply.text).not.toMatch(/"token"/);
  expect(await isIn(otherBrowser)).toBe(true);
  const replayed = openBrowser(fixture);
  await replayed.get('/auth/passkey/generate-authenticate-options');
  expect(
    (await replayed.post('/auth/passkey/verify-authentication', { response })).status,
  ).toBeGreaterThanOrEqual(400);
  expect(await isIn(replayed)).toBe(false);
  const id = String(listed.json[0].id);
  expect((await browser.post('/auth/passkey/delete-passkey', { id })).status).toBe(200);
  expect((await signIn(openBrowser(fixture), passkey)).reply.status).toBeGreaterThanOrEqual(400);
});

it('passkey of another site or another user is refused', async () => {
  const browser = await someoneSignedIn();
  const evil = await register(browser, createPasskey(), 'https://evil.example');
  expect(evil.status).toBeGreaterThanOrEqual(400);
  const passkey = createPasskey();
  expect((await register(browser, passkey)).status).toBe(200);
  const phished = openBrowser(fixture);
  expect((await signIn(phished, passkey, 'https://evil.example')).reply.status).toBeGreaterThanOrEqual(400);
  expect(await isIn(phished)).toBe(false);
  const [own] = (await browser.get('/auth/passkey/list-user-passkeys')).json as { id: string }[];
  const outsider = await someoneSignedIn();
  const stolen = await outsider.post('/auth/passkey/delete-passkey', { id: own?.id });
  expect(stolen.status).toBeGreaterThanOrEqual(400);
  expect((await browser.get('/auth/passkey/list-user-passkeys')).json).toHaveLength(1);
  expect((await openBrowser(fixture).get('/auth/passkey/generate-register-options')).status).toBe(401);
});

it('passkey without user verification is refused, because it would be weaker than a password with a second factor', async () => {
  const browser = await someoneSignedIn();
  expect((await register(browser, createPasskey({ verifiesUser: false }))).status).toBe(400);
  const passkey = createPasskey();
  expect((await register(browser, passkey)).status).toBe(200);
  passkey.disableUserVerification();
  const attacker = openBrowser(fixture);
  expect((await signIn(attacker, passkey)).reply.status).toBe(401);
  expect(await isIn(attacker)).toBe(false);
});
