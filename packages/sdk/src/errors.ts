import type { Reason } from './operation-types.ts';
import { reasonStatuses } from './reasons.generated.ts';

/** The base class of all errors of this package. */
export class MillraceError extends Error {
  override name = 'MillraceError';
}

/** The service is unreachable, or the connection closed before the response was complete. */
export class ConnectionError extends MillraceError {
  override name = 'ConnectionError';
}

/** An attempt took longer than `timeoutMs`. It may have taken effect. */
export class TimeoutError extends ConnectionError {
  override name = 'TimeoutError';
}

/** Your own signal aborted the call. */
export class AbortedError extends MillraceError {
  override name = 'AbortedError';
}

/** A stream closed before its end. The received items are complete, but others are missing. */
export class StreamInterruptedError extends ConnectionError {
  override name = 'StreamInterruptedError';
}

/** The awaited state can never be reached from the current state. */
export class WaitFailedError extends MillraceError {
  override name = 'WaitFailedError';
  /** The current state. */
  readonly state: string;
  /** The reason that the service gave, if any. */
  readonly why: string | null;

  constructor(message: string, { state, why }: { readonly state: string; readonly why: string | null }) {
    super(message);
    this.state = state;
    this.why = why;
  }
}

/** One invalid field. */
export interface Issue {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly code?: string;
}

/** The parsed error, from any of the three bodies. */
export interface ErrorDetails {
  readonly status: number;
  readonly headers: Headers;
  readonly message: string;
  readonly reason: Reason | (string & Record<never, never>) | null;
  readonly suggestion: string | null;
  readonly requestId: string | null;
  readonly docUrl: string | null;
  readonly issues: readonly Issue[];
  /** The original body, parsed if it was JSON. */
  readonly body: unknown;
}

/** The service refused the request. */
export class ApiError extends MillraceError {
  override name = 'ApiError';
  readonly status: number;
  /** The stable code to switch on; null if a proxy responded instead of the service. */
  readonly reason: ErrorDetails['reason'];
  /** What to do. */
  readonly suggestion: string | null;
  /** Identifies the request for support. */
  readonly requestId: string | null;
  readonly docUrl: string | null;
  /** The invalid fields of the input. */
  readonly issues: readonly Issue[];
  /** How long the service asks to wait, if it says so. */
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

/** The key, its scopes or its limits do not allow the request. */
export class PermissionDeniedError extends ApiError {
  override name = 'PermissionDeniedError';
}

/** The resource does not exist, or it belongs to another organisation. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}

/** The current state does not allow the request. */
export class ConflictError extends ApiError {
  override name = 'ConflictError';
}

/** The input is invalid (see `issues`), or its body could not be read. */
export class ValidationError extends ApiError {
  override name = 'ValidationError';
}

/** The balance, a budget or your own limit is too low. */
export class InsufficientBalanceError extends ApiError {
  override name = 'InsufficientBalanceError';
}

/** No capacity is available now. */
export class InsufficientCapacityError extends ApiError {
  override name = 'InsufficientCapacityError';
}

/** Too many requests; see `retryAfterSeconds`. */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError';
}

export class ServerError extends ApiError {
  override name = 'ServerError';
}

const capacityReasons: ReadonlySet<string> = new Set<Reason>([
  'INSUFFICIENT_CAPACITY',
  'GPU_COUNT_EXCEEDS_AVAILABLE',
  'MACHINE_NOT_READY',
]);

/** Reasons with status 400 that are about a state, not about the input. */
const stateReasons: ReadonlySet<string> = new Set<Reason>([
  'ALREADY_TERMINATED',
  'ACTION_IN_PROGRESS',
  'RENTAL_IS_OFF',
  'VOLUME_NOT_ACTIVE',
  'VOLUME_NOT_ATTACHED',
  'REGION_DISABLED',
]);

/** The reason decides the class, because statuses differ by operation; the status decides for unknown reasons. */
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
