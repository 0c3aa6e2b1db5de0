import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { findCookie } from './cookie.ts';

/**
 * Browsers that somebody has signed in with before. Tries are counted by mailbox, so whoever keeps guessing at one would keep
 * its owner out as well. A browser that once knew the password has tries of its own. It shows so by a cookie that
 * lets nobody in, and that counts for this one mailbox.
 */
export interface KnownBrowsers {
  /** The browser's id, or null when it never signed in with this mailbox. */
  idIn(cookies: string | undefined, email: string): string | null;
  /** The `Set-Cookie` line for a browser that has just shown the password of this mailbox. */
  introduce(email: string): string;
}

const YEAR_SECONDS = 31_536_000;

export function createKnownBrowsers(options: {
  readonly secret: string;
  readonly https: boolean;
}): KnownBrowsers {
  const { secret, https } = options;
  const name = `${https ? '__Secure-' : ''}millrace.known_browser`;
  const sign = (id: string, emailHash: string): Buffer =>
    createHmac('sha256', secret).update(`known browser\n${id}\n${emailHash}`, 'utf8').digest();
  return {
    idIn(cookies, emailHash) {
      const value = cookies === undefined ? null : findCookie(cookies, name);
      const [, id, signature] = /^([\w-]{22})\.([\w-]{43})$/.exec(value ?? '') ?? [];
      if (id === undefined || signature === undefined) return null;
      return timingSafeEqual(sign(id, emailHash), Buffer.from(signature, 'base64url')) ? id : null;
    },
    introduce(emailHash) {
      const id = randomBytes(16).toString('base64url');
      const value = `${id}.${sign(id, emailHash).toString('base64url')}`;
      const secure = https ? '; Secure' : '';
      return `${name}=${value}; Path=/auth; Max-Age=${YEAR_SECONDS}; HttpOnly; SameSite=Lax${secure}`;
    },
  };
}
