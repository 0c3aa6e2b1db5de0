import { createPrivateKey, createPublicKey } from 'node:crypto';
import { bytesOf } from './dice.ts';

// The fixed beginning of an Ed25519 private key in PKCS #8: what follows is the 32 bytes of the key itself.
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const keyType = 'ssh-ed25519';

/**
 * The key by which a machine shows who it is, in OpenSSH's own form. It follows from the seed and the machine's id, so it
 * is the same after a reboot and in every process, and no machine has another's. It guards nothing: whoever knows the
 * seed can work it out, which is fit for machines that do not exist and for nothing else.
 */
export function hostKeyOf(seed: string, externalId: string): string {
  const secret = bytesOf(seed, 'host key', externalId);
  const privateKey = createPrivateKey({
    key: Buffer.concat([pkcs8Prefix, secret]),
    format: 'der',
    type: 'pkcs8',
  });
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new Error('An Ed25519 key has no public part.');
  const publicBytes = Buffer.from(x, 'base64url');
  const publicBlob = Buffer.concat([field(keyType), field(publicBytes)]);
  // Twice the same number: how a reader of an encrypted key knows that it used the right passphrase.
  const check = bytesOf(seed, 'check', externalId).subarray(0, 4);
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

/** A string of the SSH protocol: its length, then its bytes. */
function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
