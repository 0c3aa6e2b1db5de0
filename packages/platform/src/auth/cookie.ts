import { timingSafeEqual } from 'node:crypto';
import type { AuthSecrets } from './auth-secrets.ts';

/** Reads the library's cookie: token, dot, HMAC-SHA256 in base64. A forged cookie costs no database query. */
export function createCookieReader(options: { readonly name: string; readonly secrets: AuthSecrets }) {
  const { name, secrets } = options;
  return (cookies: string | undefined): string | null => {
    const value = cookies === undefined ? null : findCookie(cookies, name);
    const [, token, signature] = /^([A-Za-z0-9]{32})\.([A-Za-z0-9+/]{43}=)$/.exec(value ?? '') ?? [];
    if (token === undefined || signature === undefined) return null;
    const sent = Buffer.from(signature, 'base64');
    return secrets.signaturesOf(token).some((right) => timingSafeEqual(right, sent)) ? token : null;
  };
}

export function findCookie(cookies: string, name: string): string | null {
  for (const part of cookies.split(';')) {
    const [key, ...rest] = part.trim().split('=');
    if (key === name) return decode(rest.join('='));
  }
  return null;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
