/** The error body of an operation. See error-bodies.ts. */
export type ErrorFamily = 'v2' | 'inference' | 'marketplace';

/** The name of each status. `code` in a v2 error body is always one of these. */
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

export interface ErrorEntry {
  /** On extension operations. */
  readonly status: ErrorStatus;
  /** On baseline v2 operations, which respond only with the statuses in docs/interface.md, plus 429 and 503. */
  readonly interfaceStatus?: ErrorStatus;
  readonly inferenceStatus?: ErrorStatus;
  /** On marketplace and billing operations. */
  readonly marketplaceStatus?: ErrorStatus;
  readonly code: ErrorCode;
  /** What happened and why, for the caller. The code that throws the error may set a more exact message. */
  readonly message: string;
  readonly suggestion: string;
  /** True if the same request may succeed later. */
  readonly retryable: boolean;
}

/** A registry entry before `code` is derived from the status. */
export type ErrorDefinition = Omit<ErrorEntry, 'code'>;
