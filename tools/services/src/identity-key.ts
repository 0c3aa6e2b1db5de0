import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

import { writeAtomically } from './site.ts';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Base58 in Bitcoin's alphabet: without look-alike letters; leading zero bytes become leading ones. */
export function base58(bytes: Uint8Array): string {
  const digits: number[] = [];
  for (const byte of bytes) {
    let carry = byte;
    for (let index = 0; index < digits.length || carry > 0; index += 1) {
      carry += (digits[index] ?? 0) * 256;
      digits[index] = carry % 58;
      carry = (carry - (carry % 58)) / 58;
    }
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  const leading = zeros < 0 ? bytes.length : zeros;
  return (
    alphabet.charAt(0).repeat(leading) +
    digits
      .toReversed()
      .map((digit) => alphabet.charAt(digit))
      .join('')
  );
}

/** Creates the Ed25519 key with which Restate signs its calls to services, once per state folder. */
export function ensureIdentityKey(file: string): void {
  if (existsSync(file)) return;
  const { privateKey } = generateKeyPairSync('ed25519');
  writeAtomically(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600);
}

/** The public key in the format of Restate's SDKs. */
export function identityPublicKey(file: string): string {
  const spki = createPublicKey(readFileSync(file, 'utf8')).export({ type: 'spki', format: 'der' });
  // The last 32 bytes of an Ed25519 SubjectPublicKeyInfo are the key.
  return `publickeyv1_${base58(spki.subarray(-32))}`;
}
