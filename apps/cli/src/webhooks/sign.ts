import { createHmac } from 'node:crypto';

/** Signs deliveries as Standard Webhooks requires: over id, time and the exact bytes of the body. */

export interface WebhookHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

const secretPrefix = 'whsec_';
const secretBytes = 32;

/** A secret for this session. `random` must return unpredictable bytes. */
export function newSecret(random: (bytes: number) => Uint8Array): string {
  return secretPrefix + Buffer.from(random(secretBytes)).toString('base64');
}

/** Standard Webhooks requires 24 to 64 bytes. */
export function isValidSecret(text: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return false;
  const { length } = keyOf(text);
  return length >= 24 && length <= 64;
}

const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(secretPrefix.length), 'base64');

export function signedHeaders(
  secret: string,
  message: { readonly id: string; readonly nowMs: number; readonly body: string },
): WebhookHeaders {
  const seconds = String(Math.trunc(message.nowMs * 0.001));
  const signature = createHmac('sha256', keyOf(secret))
    .update(`${message.id}.${seconds}.${message.body}`)
    .digest('base64');
  return {
    'webhook-id': message.id,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${signature}`,
  };
}
