import {
  createTestDatabase,
  eventually,
  freePorts,
  startApiProcess,
  testNames,
  uniqueId,
  type ApiProcess,
  type CallResponse,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, totpAt, type Browser } from './browser.fixture.ts';

/** Each step of a rotation is a restart of the api with other secrets, on the same address and database. */

const [oldSecret, newSecret] = ['secret before the rotation of tests', 'secret after the rotation of tests'];
const password = 'correct horse battery';
let database: TestDatabase;
let port = 0;
const names = testNames();

beforeAll(async () => {
  database = await createTestDatabase();
  [port = 0] = await freePorts(1);
});
afterAll(() => database?.[Symbol.asyncDispose]());

function start(secrets: Readonly<Record<string, string>>): Promise<ApiProcess> {
  const env = {
    MILLRACE_HTTP_PORT: String(port),
    MILLRACE_HTTP_TRUSTED_PROXIES: '127.0.0.1',
    MILLRACE_SIGN_UP: 'open',
    ...secrets,
  };
  return startApiProcess({ database, names, env });
}

/** A browser for the api that runs at the moment; `saved` has the cookies of an earlier one. */
function browse(saved: Browser | null = null): Browser {
  const url = `http://127.0.0.1:${port}`;
  const call = async (request: {
    readonly method: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  }): Promise<CallResponse> => {
    const { method, path, headers, body } = request;
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      redirect: 'manual',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: { 'set-cookie': response.headers.getSetCookie() },
      text,
      json: text.startsWith('{') ? JSON.parse(text) : {},
    };
  };
  return openBrowser({ call }, saved?.cookies, url);
}

const isIn = async (browser: Browser): Promise<boolean[]> => [
  (await browser.get('/auth/get-session')).text !== 'null',
  (await browser.get('/v2/me/sessions')).status === 200,
];

async function signUpWithTotp() {
  const email = `rotation-${uniqueId()}@example.com`;
  const browser = browse();
  expect((await browser.post('/auth/sign-up/email', { name: 'Ada', email, password })).status).toBe(200);
  expect((await browser.post('/auth/sign-in/email', { email, password })).status).toBe(200);
  const enabled = await browser.post('/auth/two-factor/enable', { password });
  const { totpURI, backupCodes } = enabled.json as { totpURI: string; backupCodes: string[] };
  const secret = new URL(totpURI).searchParams.get('secret') ?? '';
  const code = totpAt(secret, Date.now());
  expect((await browser.post('/auth/two-factor/verify-totp', { code })).status).toBe(200);
  return { email, browser, secret, backupCodes };
}

async function passesPassword(email: string): Promise<Browser> {
  const browser = browse();
  expect((await browser.post('/auth/sign-in/email', { email, password })).json).toMatchObject({
    twoFactorRedirect: true,
  });
  return browser;
}

async function statusOfTotp(browser: Browser, secret: string): Promise<number> {
  const code = totpAt(secret, Date.now());
  return (await browser.post('/auth/two-factor/verify-totp', { code })).status;
}

async function storedSecrets(): Promise<readonly string[]> {
  const rows = await database.db.kysely.selectFrom('two_factors').select('secret').orderBy('id').execute();
  return rows.map(({ secret }) => secret);
}

test('a new secret keeps sessions and second factors while the old one is accepted', async () => {
  const before = await start({ MILLRACE_AUTH_SECRET: oldSecret });
  const ada = await signUpWithTotp();
  const idle = await signUpWithTotp();
  expect(await isIn(ada.browser)).toEqual([true, true]);
  const half = await passesPassword(ada.email);
  const stored = await storedSecrets();
  expect(await before.stop()).toBe(0);

  const during = await start({ MILLRACE_AUTH_SECRET: newSecret, MILLRACE_AUTH_OTHER_SECRETS: oldSecret });
  expect(await isIn(browse(ada.browser))).toEqual([true, true]);
  const continued = browse(half);
  expect(await statusOfTotp(continued, ada.secret)).toBe(200);
  const withCode = await passesPassword(ada.email);
  const [code] = ada.backupCodes;
  expect((await withCode.post('/auth/two-factor/verify-backup-code', { code })).status).toBe(200);
  await eventually({ what: 'all second factors are encrypted with the new secret' }, async () => {
    const now = await storedSecrets();
    return now.length === stored.length && now.every((text) => !stored.includes(text));
  });
  expect(await during.stop()).toBe(0);

  const after = await start({ MILLRACE_AUTH_SECRET: newSecret });
  expect(await isIn(browse(ada.browser))).toEqual([false, false]);
  expect(await isIn(browse(continued))).toEqual([true, true]);
  expect(await statusOfTotp(await passesPassword(idle.email), idle.secret)).toBe(200);
  expect(await after.stop()).toBe(0);
});
