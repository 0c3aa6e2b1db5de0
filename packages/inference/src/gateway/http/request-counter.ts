import { isFault, type Fault } from '@millrace/platform/fault';
import { addressBlock, clientIp, type CidrSet } from '@millrace/platform/http/client-ip';
import { rateLimitFault } from '@millrace/platform/http/rate-headers';
import type { Limiter, RateDecision, RatePolicy } from '@millrace/platform/limiter';
import { statusFor } from '@millrace/contract';
import type { IncomingMessage } from 'node:http';
import type { Caller } from './authenticator.ts';

/** Counts reads, invalid keys and requests refused before reservation. Paid requests are counted with their reservation. */
export interface RequestCounter {
  /** Counts against the limits of the organisation and the key. */
  ofCaller(caller: Caller): Promise<RateDecision>;
  /** The same limits without counting a request. */
  peekAtCaller(caller: Caller): Promise<RateDecision>;
  /** Counts a refused key and returns the error for the client: the refusal, or `RATE_LIMITED` for repeated guesses. */
  countFailedAuth(request: IncomingMessage, error: unknown): Promise<CountedRejection>;
}

export interface CountedRejection {
  readonly error: unknown;
  readonly rate: RateDecision | null;
}

const minuteMs = 60_000;

export interface RequestCounterOptions {
  readonly limiter: Limiter;
  readonly trusted: CidrSet;
  /** Refused keys per minute from one address. */
  readonly failedAuthRpm: number;
}

export function createRequestCounter(options: RequestCounterOptions): RequestCounter {
  const { limiter, trusted, failedAuthRpm } = options;
  return {
    ofCaller: (caller) => limiter.consume({ tag: caller.key.orgId, policies: policiesOf(caller) }),
    peekAtCaller: (caller) => limiter.peek({ tag: caller.key.orgId, policies: policiesOf(caller) }),

    async countFailedAuth(request, error) {
      if (!isFault(error) || !isKeyError(error)) return { error, rate: null };
      const block = addressBlock(clientAddress(request, trusted));
      const limit = { limit: failedAuthRpm, windowMs: minuteMs };
      const policies = [{ name: 'failed-authentication', scope: 'ip', subject: block, ...limit }] as const;
      const rate = await limiter.consume({ tag: block, policies });
      return { error: rate.refusedBy === null ? error : rateLimitFault(rate.refusedBy), rate };
    },
  };
}

function policiesOf({ key, organisation }: Caller): RatePolicy[] {
  const ofOrganisation = { limit: organisation.requestsPerMinute, windowMs: minuteMs };
  const policies: RatePolicy[] = [
    { name: 'organisation', scope: 'organisation', subject: key.orgId, ...ofOrganisation },
  ];
  const limit = key.requestsPerMinute;
  if (limit !== null)
    policies.push({ name: 'key', scope: 'key', subject: key.keyId, limit, windowMs: minuteMs });
  return policies;
}

/** Only 401 counts as a guess: unknown paths and failed look-ups do not. */
function isKeyError(fault: Fault): boolean {
  return statusFor(fault.reason, { source: 'interface', errorFamily: 'inference' }) === 401;
}

export function clientAddress(request: IncomingMessage, trusted: CidrSet): string {
  const forwardedFor = request.headers['x-forwarded-for'];
  return clientIp({
    socketAddress: request.socket.remoteAddress ?? '',
    forwardedFor: Array.isArray(forwardedFor) ? forwardedFor.join(',') : forwardedFor,
    trusted,
  });
}
