import { createHash } from 'node:crypto';
import { Fault } from '../fault/index.ts';
import { addressBlock } from '../http/client-ip.ts';
import { rateLimitFault } from '../http/response/rate-headers.ts';
import type { RefundingLimiter, RatePolicy, RateRequest } from '../limiter/index.ts';
import type { AuthPath } from './paths.ts';

/**
 * Guessing. Tries are counted before they are made, by mailbox and by address, and given back when they were right: who
 * knows their password is never in their own way. A mailbox that nobody has counts as any other does.
 */

const windowMs = 15 * 60_000;
const ATTEMPTS_PER_EMAIL = 10;
const EMAILS_PER_ADDRESS = 5;

/** Who tries, and how many tries their address has in a quarter of an hour. */
export interface AttemptSource {
  readonly clientIp: string;
  /** As `hashEmail` names it. */
  readonly emailHash: string | null;
  /** The id of a browser that this mailbox signed in with before. */
  readonly browser: string | null;
  readonly addressTries: number;
}

/** Never the mailbox itself: what is counted is kept elsewhere, and shown in its metrics. */
export function hashEmail(email: string): string {
  return createHash('sha256').update(email.trim().toLowerCase(), 'utf8').digest('base64url');
}

/** What a try costs, by whom it is counted. Each is asked for by itself: a tag keeps one slot of Valkey. */
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
  /** It was right, so it was no guess. */
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
    // Tries that nobody counts are as many as a guesser likes. Whoever is signed in stays so meanwhile.
    if (decision.degraded) {
      const internal = 'tries to sign in cannot be counted';
      throw new Fault('SERVICE_UNAVAILABLE', { retryAfterSeconds: 5, internal });
    }
  }
  return {
    giveBack: async () => {
      // Letters that were sent and requests that left a row behind stay counted.
      if (path.counted === 'letter' || path.counted === 'request') return;
      await Promise.all(requests.map((request) => limiter.giveBack(request)));
    },
  };
}
