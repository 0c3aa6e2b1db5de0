import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { divideWithRemainder } from '../money/index.ts';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** The Ed25519 key with which Restate signs its calls to workers. */
export function createIdentityKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The public key in the format of MILLRACE_RESTATE_IDENTITY_KEYS. */
export function identityPublicKey(key: string): string {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  // The last 32 bytes of an Ed25519 SubjectPublicKeyInfo are the key.
  return `publickeyv1_${base58(spki.subarray(-32))}`;
}

/** Base58 in Bitcoin's alphabet; leading zero bytes become leading ones. */
export function base58(bytes: Uint8Array): string {
  const digits: number[] = [];
  for (const byte of bytes) {
    let carry = byte;
    for (let index = 0; index < digits.length || carry > 0; index += 1) {
      const [rest, digit] = divideWithRemainder(carry + (digits[index] ?? 0) * 256, alphabet.length);
      digits[index] = digit;
      carry = rest;
    }
  }
  const text = digits.toReversed().map((digit) => alphabet.charAt(digit));
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return alphabet.charAt(0).repeat(zeros < 0 ? bytes.length : zeros) + text.join('');
}
