import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { AuthSecrets } from './auth-secrets.ts';
import { findCookie } from './cookie.ts';

/**
 * Gives browsers that signed in before their own attempt limit. Attempts are counted by email address, so an attacker
 * who guesses would otherwise lock out the owner. A cookie identifies the browser for this one email address and grants
 * no access.
 */
export interface KnownBrowsers {
  /** The browser's id, or null if it never signed in with this email address. */
  idIn(cookies: string | undefined, email: string): string | null;
  /** The `Set-Cookie` value for a browser that has just sent the right password for this email address. */
  introduce(email: string): string;
}

const YEAR_SECONDS = 31_536_000;

export function createKnownBrowsers(options: {
  readonly secrets: AuthSecrets;
  readonly https: boolean;
}): KnownBrowsers {
  const { secrets, https } = options;
  const name = `${https ? '__Secure-' : ''}millrace.known_browser`;
  const signaturesOf = (id: string, emailHash: string) =>
    secrets.signaturesOf(`known browser\n${id}\n${emailHash}`);
  return {
    idIn(cookies, emailHash) {
      const value = cookies === undefined ? null : findCookie(cookies, name);
      const [, id, signature] = /^([\w-]{22})\.([\w-]{43})$/.exec(value ?? '') ?? [];
      if (id === undefined || signature === undefined) return null;
      const sent = Buffer.from(signature, 'base64url');
      return signaturesOf(id, emailHash).some((right) => timingSafeEqual(right, sent)) ? id : null;
    },
    introduce(emailHash) {
      const id = randomBytes(16).toString('base64url');
      const value = `${id}.${signaturesOf(id, emailHash)[0].toString('base64url')}`;
      const secure = https ? '; Secure' : '';
      return `${name}=${value}; Path=/auth; Max-Age=${YEAR_SECONDS}; HttpOnly; SameSite=Lax${secure}`;
    },
  };
}
