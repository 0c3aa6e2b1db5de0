import { createHmac } from 'node:crypto';
import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import { describe, expect, test } from 'vitest';
import { createAuthSecrets } from './auth-secrets.ts';
import { createCookieReader } from './cookie.ts';
import { createEmailOptOuts } from './email-opt-out.ts';
import { createKnownBrowsers } from './known-browser.ts';

const before = createAuthSecrets('old');
const during = createAuthSecrets('new', ['older', 'old']);
const after = createAuthSecrets('new');

const token = 'A'.repeat(32);
const sign = (secret: string, text: string, encoding: 'base64' | 'base64url'): string =>
  createHmac('sha256', secret).update(text).digest(encoding);
const cookie = (secret: string): string =>
  `millrace.session_token=${encodeURIComponent(`${token}.${sign(secret, token, 'base64')}`)}`;

describe('createAuthSecrets', () => {
  test('signs cookies of an accepted secret again and leaves all others', () => {
    const others = `theme=dark; a=b=c; forged=${token}.${'A'.repeat(43)}%3D; broken=%E0%A4%A`;
    expect(during.resignCookies(`${others}; ${cookie('old')}`)).toBe(`${others}; ${cookie('new')}`);
    expect(during.resignCookies(cookie('new'))).toBe(cookie('new'));
    expect(during.resignCookies(cookie('stolen'))).toBe(cookie('stolen'));
    expect(after.resignCookies(cookie('old'))).toBe(cookie('old'));
  });

  test('signs the token of an emailed link again and leaves all other addresses', () => {
    const claims = 'eyJhbGciOiJIUzI1NiJ9.eyJlbWFpbCI6ImFAZXhhbXBsZS5jb20ifQ';
    const link = (secret: string): URL =>
      new URL(
        `https://example.com/auth/verify-email?token=${claims}.${sign(secret, claims, 'base64url')}&next=%2F`,
      );
    expect(during.resignLink(link('old')).href).toBe(link('new').href);
    for (const same of [link('new'), link('stolen'), new URL('https://example.com/auth/get-session')]) {
      expect(during.resignLink(same).href).toBe(same.href);
    }
    expect(after.resignLink(link('old')).href).toBe(link('old').href);
  });

  test('encrypts again only texts of another accepted secret', async () => {
    const encrypted = await symmetricEncrypt({ key: 'old', data: 'JBSWY3DP' });
    const again = (await during.reencrypt(encrypted)) ?? expect.fail('not encrypted again');
    expect(await symmetricDecrypt({ key: 'new', data: again })).toBe('JBSWY3DP');
    expect(await during.reencrypt(again)).toBeNull();
    expect(await after.reencrypt(encrypted)).toBeNull();
    expect(await during.reencrypt('not encrypted')).toBeNull();
  });
});

test('session cookies, known browsers and opt-out links of an accepted secret stay valid', () => {
  const name = 'millrace.session_token';
  const readWith = (secrets: typeof during) => createCookieReader({ name, secrets })(cookie('old'));
  expect([readWith(before), readWith(during), readWith(after)]).toEqual([token, token, null]);

  const browsers = (secrets: typeof during) => createKnownBrowsers({ secrets, https: false });
  const [set = ''] = browsers(before).introduce('hash').split(';');
  expect(browsers(during).idIn(set, 'hash')).not.toBeNull();
  expect(browsers(during).idIn(set, 'other')).toBeNull();
  expect(browsers(after).idIn(set, 'hash')).toBeNull();

  const proof = createEmailOptOuts(before).proofOf('a@example.com');
  expect(createEmailOptOuts(during).isProofOf('a@example.com', proof)).toBe(true);
  expect(createEmailOptOuts(during).proofOf('a@example.com')).not.toBe(proof);
  expect(createEmailOptOuts(after).isProofOf('a@example.com', proof)).toBe(false);
});
