import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { MillraceError } from './errors.ts';
import type { MillraceEvent } from './operation-types.ts';

/** Verifies webhook deliveries, which follow Standard Webhooks 1.0. */

export type { EventType, MillraceEvent } from './operation-types.ts';

/** The delivery was not signed with the secret, or is too old. Respond with 400 and ignore it. */
export class WebhookVerificationError extends MillraceError {
  override name = 'WebhookVerificationError';
}

export interface WebhookToVerify {
  /** The exact body of the request: text or bytes, never a parsed object. */
  readonly payload: string | Uint8Array;
  /** The headers of the request, in any form. */
  readonly headers: HeadersLike;
  /** `whsec_…`. Pass several during a rotation: one match is enough. */
  readonly secret: string | readonly string[] | undefined;
  /** The allowed clock difference. Default: five minutes. */
  readonly toleranceSeconds?: number | undefined;
  readonly clock?: Pick<Clock, 'nowMs'> | undefined;
}

export type HeadersLike = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

const secretPrefix = 'whsec_';
const defaultToleranceSeconds = 300;

/** Returns the event of a delivery if its signature is valid. Store `event.id` to ignore repeated deliveries. */
export async function verifyWebhook(webhook: WebhookToVerify): Promise<MillraceEvent> {
  const {
    payload,
    headers,
    secret,
    toleranceSeconds = defaultToleranceSeconds,
    clock = systemClock,
  } = webhook;
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  checkAge(timestamp, clock.nowMs(), toleranceSeconds);
  const content = typeof payload === 'string' ? new TextEncoder().encode(payload) : payload;
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), content);
  const secrets = typeof secret === 'string' ? [secret] : (secret ?? []);
  // An empty list of secrets must not accept everything.
  if (secrets.length === 0) throw new MillraceError('The secret of the webhook is missing.');
  const results = await Promise.all(secrets.map((one) => isSignedWith(one, signed, signatures)));
  if (!results.includes(true)) {
    throw new WebhookVerificationError('The webhook has no signature made with the secret.');
  }
  return JSON.parse(new TextDecoder().decode(content)) as MillraceEvent;
}

function header(headers: HeadersLike, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : fieldOf(headers, name);
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookVerificationError(`The header ${name} is missing.`);
}

function fieldOf(headers: Exclude<HeadersLike, Headers>, name: string): string | undefined {
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.join(' ');
}

/** An old delivery may be a replay. */
function checkAge(timestamp: string, nowMs: number, toleranceSeconds: number): void {
  if (!/^[0-9]{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError('The header webhook-timestamp is not a time.');
  }
  const apartMs = Math.abs(nowMs - Number(timestamp) * 1000);
  // With this comparison, NaN tolerates nothing.
  if (!(apartMs <= toleranceSeconds * 1000)) {
    throw new WebhookVerificationError(
      `The webhook was signed more than ${toleranceSeconds} seconds from now: it is a replay, or a clock is wrong.`,
    );
  }
}

async function isSignedWith(
  secret: string,
  signed: Uint8Array<ArrayBuffer>,
  signatures: string,
): Promise<boolean> {
  const { subtle } = globalThis.crypto;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await subtle.importKey('raw', keyOf(secret), algorithm, false, ['verify']);
  const candidates = signatures.split(' ').flatMap((one) => {
    const [scheme, value] = one.split(',', 2);
    const bytes = scheme === 'v1' && value !== undefined ? fromBase64(value) : null;
    return bytes === null ? [] : [bytes];
  });
  // `verify` compares in constant time.
  const results = await Promise.all(candidates.map((bytes) => subtle.verify('HMAC', key, bytes, signed)));
  return results.includes(true);
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64(secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret);
  if (bytes !== null && bytes.length > 0) return bytes;
  throw new MillraceError('The secret is not a webhook secret. Webhook secrets begin with whsec_.');
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
