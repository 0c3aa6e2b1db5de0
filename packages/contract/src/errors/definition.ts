/** Which of the three error bodies an operation answers with. See error-bodies.ts. */
export type ErrorFamily = 'v2' | 'inference' | 'marketplace';

/** The v2 schema name of each status the service answers. `code` in an error body is always one of these. */
export const errorCodes = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  409: 'CONFLICT',
  410: 'GONE',
  413: 'CONTENT_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_CONTENT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  502: 'BAD_GATEWAY',
  503: 'SERVICE_UNAVAILABLE',
  504: 'GATEWAY_TIMEOUT',
} as const;

export type ErrorStatus = keyof typeof errorCodes;
export type ErrorCode = (typeof errorCodes)[ErrorStatus];

/** What the registry knows of one reason. */
export interface ErrorEntry {
  /** On operations of our own. */
  readonly status: ErrorStatus;
  /** On v2 operations the interface lists, which may only answer its statuses plus 429 and 503. */
  readonly interfaceStatus?: ErrorStatus;
  /** On inference operations. */
  readonly inferenceStatus?: ErrorStatus;
  /** On marketplace and billing operations. */
  readonly marketplaceStatus?: ErrorStatus;
  /** The schema name of `status`. */
  readonly code: ErrorCode;
  /** What happened and why, in words for the caller. A thrower may say it more exactly. */
  readonly message: string;
  /** What to do about it. */
  readonly suggestion: string;
  /** True when the same request, sent again unchanged, may succeed. */
  readonly retryable: boolean;
}

/** A row of the registry before its `code`, which follows from the status. */
export type ErrorDefinition = Omit<ErrorEntry, 'code'>;
