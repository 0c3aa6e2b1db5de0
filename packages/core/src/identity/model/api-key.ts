import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * The text of an API key: `mr_{live|test}_{publicId}_{secret}{checksum}`.
 *
 * The public id finds the row and may be shown and logged. The secret has 32 base62 characters (190 bits), so a plain SHA-256
 * is enough to store it. The checksum is the CRC-32 of everything before it: secret scanners can recognise a leaked key, and
 * servers can reject malformed keys without a look-up. It does not protect against forgery.
 */
export type KeyMode = 'live' | 'test';

export interface ParsedKey {
  readonly mode: KeyMode;
  readonly publicId: string;
  readonly secret: string;
}

export interface MintedKey extends ParsedKey {
  /** The whole key, to show once. */
  readonly text: string;
  readonly secretSha256: Buffer;
}

export const PUBLIC_ID_LENGTH = 12;
export const SECRET_LENGTH = 32;
export const CHECKSUM_LENGTH = 6;

/** Crockford's base32, as in all ids: no letter looks like a digit. */
const BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY_PATTERN = /^(mr_(live|test)_([0-9A-HJKMNP-TV-Z]{12})_([0-9A-Za-z]{32}))([0-9A-Za-z]{6})$/;
const KEY_LENGTH = 'mr_live_'.length + PUBLIC_ID_LENGTH + 1 + SECRET_LENGTH + CHECKSUM_LENGTH;

/** Uniform random bytes; tests pass their own for repeatable results. */
export type RandomBytes = (count: number) => Uint8Array;

export function mintKey(mode: KeyMode, random: RandomBytes = randomBytes): MintedKey {
  const publicId = randomText(BASE32, PUBLIC_ID_LENGTH, random);
  const secret = randomText(BASE62, SECRET_LENGTH, random);
  const body = `mr_${mode}_${publicId}_${secret}`;
  return { mode, publicId, secret, text: body + checksum(body), secretSha256: hashSecret(secret) };
}

/** Null for a text with another format or a wrong checksum. */
export function parseKey(text: string): ParsedKey | null {
  if (text.length !== KEY_LENGTH) return null;
  const match = KEY_PATTERN.exec(text);
  if (match === null) return null;
  const [, body, mode, publicId, secret, sum] = match;
  if (body === undefined || publicId === undefined || secret === undefined || sum !== checksum(body))
    return null;
  return { mode: mode === 'live' ? 'live' : 'test', publicId, secret };
}

export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest();
}

/** Constant time, so that the duration reveals nothing about the stored hash. */
export function secretMatches(secret: string, storedSha256: Uint8Array): boolean {
  const presented = hashSecret(secret);
  return presented.length === storedSha256.length && timingSafeEqual(presented, storedSha256);
}

/** The prefix by which users distinguish their keys. */
export function keyPrefix(mode: KeyMode, publicId: string): string {
  return `mr_${mode}_${publicId}`;
}

/** CRC-32 in base62, most significant digit first. */
function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let place = CHECKSUM_LENGTH - 1; place >= 0; place--) {
    const weight = BASE62.length ** place;
    let digit = 0;
    for (; rest >= weight; digit++) rest -= weight;
    digits += BASE62.charAt(digit);
  }
  return digits;
}

function randomText(alphabet: string, length: number, random: RandomBytes): string {
  // Discard bytes above the largest multiple of the alphabet's size: a remainder of all 256 values would make some
  // characters more likely.
  const limit = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random(length - text.length + 8)) {
      if (byte < limit && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}
