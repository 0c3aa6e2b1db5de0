import type { Reason } from './operation-types.ts';
import { reasonStatuses } from './reasons.generated.ts';

/** Everything that this package throws. */
export class MillraceError extends Error {
  override name = 'MillraceError';
}

/** The service could not be reached, or went away before its answer was whole. */
export class ConnectionError extends MillraceError {
  override name = 'ConnectionError';
}

/** An attempt took longer than `timeoutMs`. It may have had its effect. */
export class TimeoutError extends ConnectionError {
  override name = 'TimeoutError';
}

/** The caller's own signal ended it. */
export class AbortedError extends MillraceError {
  override name = 'AbortedError';
}

/** A stream ended before its end: what was received is whole, but it is not all. */
export class StreamInterruptedError extends ConnectionError {
  override name = 'StreamInterruptedError';
}

/** What was waited for will not come: the thing is in a state from which there is no way to it. */
export class WaitFailedError extends MillraceError {
  override name = 'WaitFailedError';
  /** The state that it is in instead. */
  readonly state: string;
  /** Why, in the service's words, if it said. */
  readonly why: string | null;

  constructor(message: string, { state, why }: { readonly state: string; readonly why: string | null }) {
    super(message);
    this.state = state;
    this.why = why;
  }
}

/** One thing wrong with one field. */
export interface Issue {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly code?: string;
}

/** What a refusal said, whichever of the three bodies it had. */
export interface ErrorDetails {
  readonly status: number;
  readonly headers: Headers;
  readonly message: string;
  readonly reason: Reason | (string & Record<never, never>) | null;
  readonly suggestion: string | null;
  readonly requestId: string | null;
  readonly docUrl: string | null;
  readonly issues: readonly Issue[];
  /** The body as it came: parsed if it was JSON. */
  readonly body: unknown;
}

/** The service answered, and refused. */
export class ApiError extends MillraceError {
  override name = 'ApiError';
  readonly status: number;
  /** Stable, and what to switch on; null when whoever answered was not the service. */
  readonly reason: ErrorDetails['reason'];
  /** What to do about it. */
  readonly suggestion: string | null;
  /** Names the request to whoever runs the service. */
  readonly requestId: string | null;
  readonly docUrl: string | null;
  /** What is wrong with which field of the input. */
  readonly issues: readonly Issue[];
  /** How long the service asks to wait, if it said. */
  readonly retryAfterSeconds: number | null;
  readonly headers: Headers;
  readonly body: unknown;

  constructor(details: ErrorDetails) {
    super(details.message);
    this.status = details.status;
    this.reason = details.reason;
    this.suggestion = details.suggestion;
    this.requestId = details.requestId;
    this.docUrl = details.docUrl;
    this.issues = details.issues;
    const retryAfter = Number(details.headers.get('retry-after') ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : null;
    this.headers = details.headers;
    this.body = details.body;
  }
}

/** The key is missing, unknown, expired or revoked. */
export class AuthenticationError extends ApiError {
  override name = 'AuthenticationError';
}

/** The key, its scopes or its limits do not allow it. */
export class PermissionDeniedError extends ApiError {
  override name = 'PermissionDeniedError';
}

/** There is no such thing, or it belongs to somebody else. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}

/** The state of things does not allow it now. */
export class ConflictError extends ApiError {
  override name = 'ConflictError';
}

/** The input is not what the operation takes (see `issues`), or its body could not be read. */
export class ValidationError extends ApiError {
  override name = 'ValidationError';
}

/** The balance, a budget or the caller's own limit does not reach. */
export class InsufficientBalanceError extends ApiError {
  override name = 'InsufficientBalanceError';
}

/** No machine is free for it at the moment. */
export class InsufficientCapacityError extends ApiError {
  override name = 'InsufficientCapacityError';
}

/** Too many requests; see `retryAfterSeconds`. */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError';
}

/** The service failed. */
export class ServerError extends ApiError {
  override name = 'ServerError';
}

const capacityReasons: ReadonlySet<string> = new Set<Reason>([
  'INSUFFICIENT_CAPACITY',
  'GPU_COUNT_EXCEEDS_AVAILABLE',
  'MACHINE_NOT_READY',
]);

/** Reasons of status 400 that tell of a state and not of the input. */
const stateReasons: ReadonlySet<string> = new Set<Reason>([
  'ALREADY_TERMINATED',
  'ACTION_IN_PROGRESS',
  'RENTAL_IS_OFF',
  'VOLUME_NOT_ACTIVE',
  'VOLUME_NOT_ATTACHED',
  'REGION_DISABLED',
]);

/**
 * The error of a refusal. Operations differ in the statuses they may answer, so that the same reason comes as 402 from one
 * and as 400 from another: the reason decides, and the status only where there is none that this version knows.
 */
export function toApiError(details: ErrorDetails): ApiError {
  const reason = details.reason ?? '';
  if (capacityReasons.has(reason)) return new InsufficientCapacityError(details);
  if (stateReasons.has(reason)) return new ConflictError(details);
  return byStatus(statusOf(reason) ?? details.status, details);
}

function statusOf(reason: string): number | undefined {
  const statuses: Readonly<Record<string, number>> = reasonStatuses;
  return Object.hasOwn(statuses, reason) ? statuses[reason] : undefined;
}

function byStatus(status: number, details: ErrorDetails): ApiError {
  switch (status) {
    case 400:
    case 408:
    case 413:
    case 415:
    case 422:
      return new ValidationError(details);
    case 401:
      return new AuthenticationError(details);
    case 402:
      return new InsufficientBalanceError(details);
    case 403:
      return new PermissionDeniedError(details);
    case 404:
    case 410:
      return new NotFoundError(details);
    case 409:
      return new ConflictError(details);
    case 429:
      return new RateLimitError(details);
    default:
      return status >= 500 ? new ServerError(details) : new ApiError(details);
  }
}
