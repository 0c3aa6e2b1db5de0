import { createHash } from 'node:crypto';
import { Fault } from '../fault/index.ts';
import { addressBlock } from '../http/client-ip.ts';
import { rateLimitFault } from '../http/response/rate-headers.ts';
import type { RefundingLimiter, RatePolicy, RateRequest } from '../limiter/index.ts';
import type { AuthPath } from './paths.ts';

/**
 * Rate limits against guessing. Each sign-in attempt is counted by email address and by client address before it runs,
 * and refunded if it succeeds. An email address without an account counts like any other.
 */

const windowMs = 15 * 60_000;
const ATTEMPTS_PER_EMAIL = 10;
const EMAILS_PER_ADDRESS = 5;

/** The caller of an attempt and the attempts its client address has per 15 minutes. */
export interface AttemptSource {
  readonly clientIp: string;
  /** Result of `hashEmail`. */
  readonly emailHash: string | null;
  /** The id of a browser that signed in with this email address before. */
  readonly browser: string | null;
  readonly addressTries: number;
}

/** Hashes the email address because Valkey stores the counter and its metrics show the subject. */
export function hashEmail(email: string): string {
  return createHash('sha256').update(email.trim().toLowerCase(), 'utf8').digest('base64url');
}

/** The rate limits of an attempt. Each is a separate request, because the keys of a request share one Valkey slot. */
function requestsOf(path: AuthPath, who: AttemptSource): readonly RateRequest[] {
  const { clientIp, emailHash, browser, addressTries } = who;
  const block = addressBlock(clientIp);
  const byAddress: RatePolicy = {
    name: path.counted === 'request' ? 'device-codes-address' : 'sign-in-address',
    scope: 'ip',
    subject: block,
    limit: addressTries,
    windowMs,
  };
  const requests: RateRequest[] = [{ tag: block, policies: [byAddress] }];
  if (path.counted === 'code' || path.counted === 'request' || emailHash === null) return requests;
  const isPassword = path.counted === 'password';
  const byEmail: RatePolicy = {
    name: isPassword ? (browser === null ? 'sign-in-mailbox' : 'sign-in-browser') : 'letters-mailbox',
    scope: 'person',
    subject: isPassword && browser !== null ? `${emailHash}.${browser}` : emailHash,
    limit: isPassword ? ATTEMPTS_PER_EMAIL : EMAILS_PER_ADDRESS,
    windowMs,
  };
  return [...requests, { tag: emailHash, policies: [byEmail] }];
}

export interface CountedAttempt {
  /** Refunds the attempt because it succeeded and so was not a guess. */
  giveBack(): Promise<void>;
}

export async function countAttempt(
  limiter: RefundingLimiter,
  path: AuthPath,
  who: AttemptSource,
): Promise<CountedAttempt> {
  if (path.counted === undefined) return { giveBack: async () => undefined };
  const requests = requestsOf(path, who);
  for (const request of requests) {
    const decision = await limiter.consume(request);
    if (decision.refusedBy !== null) throw rateLimitFault(decision.refusedBy);
    // Refuse attempts that cannot be counted, because guessing would be unlimited. Existing sessions stay valid.
    if (decision.degraded) {
      const internal = 'sign-in attempts cannot be counted';
      throw new Fault('SERVICE_UNAVAILABLE', { retryAfterSeconds: 5, internal });
    }
  }
  return {
    giveBack: async () => {
      // Sent emails and requests that created a row stay counted.
      if (path.counted === 'letter' || path.counted === 'request') return;
      await Promise.all(requests.map((request) => limiter.giveBack(request)));
    },
  };
}
