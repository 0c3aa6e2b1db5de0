import { createHmac, timingSafeEqual } from 'node:crypto';

/** Reads the library's cookie: token, dot, HMAC-SHA256 in base64. A forged cookie costs no database query. */
export function createCookieReader(options: { readonly name: string; readonly secret: string }) {
  const { name, secret } = options;
  return (cookies: string | undefined): string | null => {
    const value = cookies === undefined ? null : findCookie(cookies, name);
    const [, token, signature] = /^([A-Za-z0-9]{32})\.([A-Za-z0-9+/]{43}=)$/.exec(value ?? '') ?? [];
    if (token === undefined || signature === undefined) return null;
    const right = createHmac('sha256', secret).update(token, 'utf8').digest();
    return timingSafeEqual(right, Buffer.from(signature, 'base64')) ? token : null;
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
