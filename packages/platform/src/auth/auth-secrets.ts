import { createHmac, timingSafeEqual } from 'node:crypto';
import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';

/**
 * The secrets of sign-in. The first signs and encrypts, all are accepted, so a secret can be replaced without ending
 * sessions. The library rotates only the key of its encryption and verifies cookies with one secret, so requests are
 * signed again with the first secret before the library sees them.
 */
export interface AuthSecrets {
  readonly current: string;
  readonly hasOthers: boolean;
  /** HMAC-SHA256 of a text with each secret, in order. */
  signaturesOf(text: string): readonly [Buffer, ...Buffer[]];
  /** The `Cookie` header with the signatures of the first secret. */
  resignCookies(header: string): string;
  /** The URL of an emailed link with its token signed by the first secret. */
  resignLink(url: URL): URL;
  /** Encrypts with the first secret a text that another one encrypted. Null if that is not the case. */
  reencrypt(text: string): Promise<string | null>;
}

export function createAuthSecrets(current: string, others: readonly string[] = []): AuthSecrets {
  const sign = (secret: string, text: string): Buffer =>
    createHmac('sha256', secret).update(text, 'utf8').digest();
  const isSignedByOther = (text: string, signature: Buffer): boolean =>
    others.some((secret) => isEqual(sign(secret, text), signature));

  function resignCookie(pair: string): string {
    const [name = '', ...rest] = pair.split('=');
    const [, text, signature] = signedCookie.exec(decode(rest.join('='))) ?? [];
    if (text === undefined || signature === undefined) return pair;
    if (!isSignedByOther(text, Buffer.from(signature, 'base64'))) return pair;
    return `${name}=${encodeURIComponent(`${text}.${sign(current, text).toString('base64')}`)}`;
  }

  return {
    current,
    hasOthers: others.length > 0,
    signaturesOf: (text) => [sign(current, text), ...others.map((secret) => sign(secret, text))],
    resignCookies: (header) => (others.length === 0 ? header : header.split(';').map(resignCookie).join(';')),
    resignLink(url) {
      const [, text, signature] = signedToken.exec(url.searchParams.get('token') ?? '') ?? [];
      if (text === undefined || signature === undefined) return url;
      if (!isSignedByOther(text, Buffer.from(signature, 'base64url'))) return url;
      const resigned = new URL(url);
      resigned.searchParams.set('token', `${text}.${sign(current, text).toString('base64url')}`);
      return resigned;
    },
    async reencrypt(text) {
      if (others.length === 0 || (await decrypt(current, text)) !== null) return null;
      for (const secret of others) {
        const data = await decrypt(secret, text);
        if (data !== null) return symmetricEncrypt({ key: current, data });
      }
      return null;
    },
  };
}

/** A cookie of the library: a text, a dot and a signature. */
const signedCookie = /^(.+)\.([A-Za-z0-9+/]{43}=)$/;
/** A JSON web token: header and claims, a dot and a signature. */
const signedToken = /^([\w-]+\.[\w-]+)\.([\w-]{43})$/;

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Null if another secret encrypted the text: the encryption is authenticated. */
async function decrypt(secret: string, text: string): Promise<string | null> {
  try {
    return await symmetricDecrypt({ key: secret, data: text });
  } catch {
    return null;
  }
}
