import { createHmac, randomBytes } from 'node:crypto';

/**
 * Standard Webhooks 1.0: what a receiver needs to know that a delivery is ours, whole and recent. The id stays the same
 * over every attempt, so that a receiver can tell a repeat.
 */

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Fills in for the operating system in tests. */
type RandomBytes = (count: number) => Buffer;

/** A new secret, in the one form that it is ever shown in. */
export function mintSecret(random: RandomBytes = randomBytes): string {
  return `${PREFIX}${random(SECRET_BYTES).toString('base64')}`;
}

export interface SignedHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/** The headers of one attempt, with a signature by each of the secrets. */
export function signedHeaders(
  message: { readonly id: string; readonly timestampSeconds: number; readonly payload: string },
  secrets: readonly string[],
): SignedHeaders {
  const { id, timestampSeconds, payload } = message;
  const signed = `${id}.${timestampSeconds}.${payload}`;
  const signatures = secrets.map((secret) => `v1,${hmac(secret, signed)}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

function hmac(secret: string, text: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return createHmac('sha256', key).update(text).digest('base64');
}
