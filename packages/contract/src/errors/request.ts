import type { ErrorDefinition } from './definition.ts';

/** Errors that any operation can respond with. */
export const requestErrors = {
  VALIDATION_FAILED: {
    status: 400,
    inferenceStatus: 422,
    message: 'Input validation failed',
    suggestion: 'Correct the fields named in issues and send the request again.',
    retryable: false,
  },
  MALFORMED_HTTP: {
    status: 400,
    message: 'The request is not valid HTTP/1.1.',
    suggestion: 'Send a complete HTTP/1.1 request.',
    retryable: false,
  },
  MALFORMED_JSON: {
    status: 400,
    message: 'The request body is not valid JSON.',
    suggestion: 'Send one JSON value encoded as UTF-8, with quoted keys and no trailing commas.',
    retryable: false,
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    interfaceStatus: 400,
    message: 'This operation does not accept the media type of the request body.',
    suggestion: 'Send the body uncompressed, as JSON, with the header Content-Type: application/json.',
    retryable: false,
  },
  BODY_TIMEOUT: {
    status: 408,
    interfaceStatus: 400,
    message: 'The request body did not arrive in time.',
    suggestion: 'Send the request again over a faster connection, or with a smaller body.',
    retryable: true,
  },
  BODY_TOO_LARGE: {
    status: 400,
    inferenceStatus: 413,
    message: 'The request body is larger than this operation accepts.',
    suggestion: 'Send a smaller body, or split the work over several requests.',
    retryable: false,
  },
  HEADERS_TOO_LARGE: {
    status: 400,
    message: 'The request headers are larger than the service accepts.',
    suggestion: 'Remove headers the service does not need, such as cookies of other sites.',
    retryable: false,
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    message: 'No operation is served at this path.',
    suggestion: 'Check the path against GET /v2/openapi.json.',
    retryable: false,
  },
  MISROUTED_REQUEST: {
    status: 404,
    message: 'This request reached a process of the installation that does not serve its path.',
    suggestion: 'Send the request to the public address of the installation.',
    retryable: false,
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'This path does not support this HTTP method.',
    suggestion: 'Use one of the methods in the Allow header.',
    retryable: false,
  },
  OPERATION_NOT_IMPLEMENTED: {
    status: 404,
    message: 'This operation is part of the API, but this installation does not serve it yet.',
    suggestion: 'See the changelog for the release that adds it.',
    retryable: false,
  },
  GONE: {
    status: 410,
    message: 'This operation was retired.',
    suggestion: 'Use the operation named in the Link header with rel="successor-version".',
    retryable: false,
  },
  INVALID_CURSOR: {
    status: 400,
    message: 'The cursor was not issued by this list, or is no longer valid.',
    suggestion: 'Start again without a cursor, then send the next cursor of each response unchanged.',
    retryable: false,
  },
  RATE_LIMITED: {
    status: 429,
    message: 'Too many requests: a rate limit was reached.',
    suggestion: 'Wait for the time in the Retry-After header. The RateLimit headers show what remains.',
    retryable: true,
  },
  TOO_MANY_UPLOADS: {
    status: 429,
    message: 'Too many request bodies of your organisation are arriving at once.',
    suggestion: 'Wait for the time in the Retry-After header, and send fewer large requests at a time.',
    retryable: true,
  },
  IDEMPOTENCY_KEY_INVALID: {
    status: 400,
    message: 'The Idempotency-Key header must have 1 to 255 printable ASCII characters.',
    suggestion: 'Send 1 to 255 letters, digits and punctuation characters, for example a UUID.',
    retryable: false,
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 409,
    interfaceStatus: 400,
    marketplaceStatus: 400,
    message: 'This Idempotency-Key was used before with a different request.',
    suggestion: 'Use a new key for a new request, or repeat the first request exactly.',
    retryable: false,
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    interfaceStatus: 503,
    marketplaceStatus: 503,
    message: 'A request with the same Idempotency-Key is still running.',
    suggestion:
      'Send the same request again after the time in the Retry-After header, or read GET /v2/operations?idempotencyKey=.',
    retryable: true,
  },
  OPERATION_NOT_FOUND: {
    status: 404,
    message: 'No such operation.',
    suggestion: 'Check the operation id or idempotency key. Records are kept for 30 days.',
    retryable: false,
  },
  INTERNAL: {
    status: 500,
    message: 'Something went wrong on our side.',
    suggestion:
      'Try again with the same Idempotency-Key. If the error persists, send the requestId to the operator.',
    retryable: true,
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    message: 'The service cannot answer this request right now.',
    suggestion: 'Try again after the time in the Retry-After header.',
    retryable: true,
  },
} as const satisfies Record<string, ErrorDefinition>;
