import { createHmac, randomBytes } from 'node:crypto';

/** Signs deliveries by Standard Webhooks 1.0. The id is the same in all attempts, so that receivers can detect repeats. */

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

type RandomBytes = (count: number) => Buffer;

export function mintSecret(random: RandomBytes = randomBytes): string {
  return `${PREFIX}${random(SECRET_BYTES).toString('base64')}`;
}

export interface SignedHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/** The headers of one attempt, with one signature for each secret. */
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
