import { createCipheriv, createDecipheriv, createPrivateKey, createPublicKey } from 'node:crypto';
import { seededBytes } from './seeded-random.ts';

// The fixed prefix of an Ed25519 private key in PKCS #8, before the 32 bytes of the key.
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const keyType = 'ssh-ed25519';

/** The private host key in OpenSSH format: from the spec, or generated from the seed. */
export function hostKeyOf(
  seed: string,
  { externalId, sealedHostKey }: { readonly externalId: string; readonly sealedHostKey: string | null },
): string {
  return sealedHostKey === null ? generatedHostKey(seed, externalId) : openHostKey(seed, sealedHostKey);
}

const cipherName = 'aes-256-gcm';
const tagBytes = 16;

/**
 * Encrypts a key deterministically, so that records stay a function of the spec. The seed alone decrypts it, because loading the history
 * of the demo changes ids.
 */
export function sealHostKey(seed: string, privateKey: string): string {
  const iv = seededBytes(seed, 'host key iv', privateKey).subarray(0, 12);
  const cipher = createCipheriv(cipherName, seededBytes(seed, 'host key seal'), iv);
  const body = Buffer.concat([cipher.update(privateKey, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
}

function openHostKey(seed: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const key = seededBytes(seed, 'host key seal');
  const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, 12), { authTagLength: tagBytes });
  decipher.setAuthTag(bytes.subarray(12, 12 + tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(12 + tagBytes)), decipher.final()]).toString('utf8');
}

/** Derives a unique key that is the same after a reboot and in every process. It protects only simulated machines. */
function generatedHostKey(seed: string, externalId: string): string {
  const secret = seededBytes(seed, 'host key', externalId);
  const key = Buffer.concat([pkcs8Prefix, secret]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new Error('The Ed25519 key has no public part.');
  const publicBytes = Buffer.from(x, 'base64url');
  const publicBlob = Buffer.concat([field(keyType), field(publicBytes)]);
  // The format repeats a number by which readers verify the passphrase.
  const check = seededBytes(seed, 'check', externalId).subarray(0, 4);
  const body = Buffer.concat([
    ...[check, check],
    ...[field(keyType), field(publicBytes), field(Buffer.concat([secret, publicBytes])), field(externalId)],
  ]);
  const padding = Buffer.from(Array.from({ length: (8 - (body.length % 8)) % 8 }, (_, index) => index + 1));
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[field('none'), field('none'), field('')],
    Buffer.from([0, 0, 0, 1]),
    ...[field(publicBlob), field(Buffer.concat([body, padding]))],
  ]);
  const lines = whole.toString('base64').match(/.{1,70}/g) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join(
    '\n',
  );
}

/** A length-prefixed string of the SSH protocol. */
function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
