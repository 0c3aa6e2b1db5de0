import { z } from 'zod';
import { errorCodes, reasons } from './errors.ts';
import type { ErrorCode, ErrorStatus } from './errors.ts';
import type { ErrorFamily } from './operation.ts';

/** The three error bodies. All are open objects, so that a field can be added without breaking clients. */

/** Reasons may be added; clients treat an unknown reason by its status. */
const reason = z.enum(reasons).meta({ id: 'Reason', 'x-extensible': true });

const issue = z.looseObject({
  message: z.string(),
  path: z.array(z.union([z.string(), z.int()])).optional(),
  code: z.string().optional(),
});

/** On 429: the limit that was reached, its scope, its size and when it resets. */
export const rateLimitDetail = z
  .looseObject({
    name: z.string(),
    scope: z.string(),
    limit: z.number(),
    resetSeconds: z.number(),
  })
  .meta({ id: 'RateLimitDetail' });

const v2Fields = {
  message: z.string(),
  issues: z.array(issue).optional(),
  reason,
  suggestion: z.string(),
  requestId: z.string(),
  docUrl: z.string(),
  /** Request fields that no schema knows; accepted requests have them in `X-Ignored-Fields`. */
  ignoredFields: z.array(z.string()).optional(),
  /** On 403: the scope that the caller lacks. */
  requiredScope: z.string().optional(),
  limit: rateLimitDetail.optional(),
};

function v2Body<Code extends ErrorCode>(code: Code) {
  return z.looseObject({ ...v2Fields, code: z.literal(code) }).meta({ id: code });
}

/** The v2 error schemas, named by status. docs/interface.md defines the first five names. */
export const v2ErrorBodies = {
  BAD_REQUEST: v2Body('BAD_REQUEST'),
  UNAUTHORIZED: v2Body('UNAUTHORIZED'),
  FORBIDDEN: v2Body('FORBIDDEN'),
  NOT_FOUND: v2Body('NOT_FOUND'),
  INTERNAL_SERVER_ERROR: v2Body('INTERNAL_SERVER_ERROR'),
  TOO_MANY_REQUESTS: v2Body('TOO_MANY_REQUESTS'),
  SERVICE_UNAVAILABLE: v2Body('SERVICE_UNAVAILABLE'),
  PAYMENT_REQUIRED: v2Body('PAYMENT_REQUIRED'),
  METHOD_NOT_ALLOWED: v2Body('METHOD_NOT_ALLOWED'),
  REQUEST_TIMEOUT: v2Body('REQUEST_TIMEOUT'),
  CONFLICT: v2Body('CONFLICT'),
  GONE: v2Body('GONE'),
  CONTENT_TOO_LARGE: v2Body('CONTENT_TOO_LARGE'),
  UNSUPPORTED_MEDIA_TYPE: v2Body('UNSUPPORTED_MEDIA_TYPE'),
  UNPROCESSABLE_CONTENT: v2Body('UNPROCESSABLE_CONTENT'),
  BAD_GATEWAY: v2Body('BAD_GATEWAY'),
  GATEWAY_TIMEOUT: v2Body('GATEWAY_TIMEOUT'),
} as const satisfies Record<ErrorCode, z.ZodType>;

/**
 * The `type` of an inference error by status, with the values of common chat APIs. The nested `error.code` has
 * the reason in lower case, or this type if there is no reason.
 */
export const inferenceErrorTypes = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  408: 'invalid_request_error',
  409: 'conflict_error',
  410: 'not_found_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  422: 'invalid_request_error',
  429: 'rate_limit_exceeded',
  500: 'server_error',
  502: 'upstream_error',
  503: 'service_unavailable',
  504: 'timeout_error',
} as const satisfies Record<ErrorStatus, string>;

const inferenceErrorObject = z.looseObject({
  message: z.string(),
  type: z.string(),
  param: z.string().nullable(),
  code: z.string(),
});

/** Has the fields at the top level and under `error`, because chat clients read one or the other. */
export const inferenceErrorBody = z
  .looseObject({
    object: z.literal('error'),
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.int(),
    error: inferenceErrorObject,
    request_id: z.string(),
    /** On 422: the invalid fields. */
    detail: z
      .array(
        z.looseObject({
          loc: z.array(z.union([z.string(), z.int()])),
          msg: z.string(),
          type: z.string(),
        }),
      )
      .optional(),
  })
  .meta({ id: 'InferenceError' });

/** The last event of a stream that failed after its first byte. No `[DONE]` follows. */
const inferenceStreamError = z
  .looseObject({ object: z.literal('error'), error: inferenceErrorObject })
  .meta({ id: 'InferenceStreamError' });

export const marketplaceErrorBody = z
  .looseObject({
    error_code: z.int(),
    message: z.string(),
    reason,
    suggestion: z.string().optional(),
    issues: z.array(issue).optional(),
    request_id: z.string().optional(),
    limit: rateLimitDetail.optional(),
  })
  .meta({ id: 'MarketplaceError' });

/** The event that ends a failed stream of a family; null if clients resume the stream instead. */
export function streamErrorFor(family: ErrorFamily): z.ZodType | null {
  return family === 'inference' ? inferenceStreamError : null;
}

export function errorBodyFor(family: ErrorFamily, status: ErrorStatus): z.ZodType {
  switch (family) {
    case 'v2':
      return v2ErrorBodies[errorCodes[status]];
    case 'inference':
      return inferenceErrorBody;
    case 'marketplace':
      return marketplaceErrorBody;
  }
}
