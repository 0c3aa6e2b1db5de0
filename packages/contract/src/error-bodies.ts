import { z } from 'zod';
import { errorCodes, reasons } from './errors.ts';
import type { ErrorCode, ErrorStatus } from './errors.ts';
import type { ErrorFamily } from './operation.ts';

/**
 * The three error bodies. All are open objects: a field may be added to an error without breaking anyone, and
 * a client must not refuse an error because it says more than it used to.
 */

/** Reasons are added with what the product learns to do; clients treat an unknown one as its status says. */
const reason = z.enum(reasons).meta({ id: 'Reason', 'x-extensible': true });

/** One thing wrong with one field. */
const issue = z.looseObject({
  message: z.string(),
  path: z.array(z.union([z.string(), z.int()])).optional(),
  code: z.string().optional(),
});

/** The limit that bit, on a 429: whose it is, how much it allows, and when it lets the next request pass. */
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
  /** Named on a refused input: fields that no schema knows, as `X-Ignored-Fields` has them on an accepted one. */
  ignoredFields: z.array(z.string()).optional(),
  /** Named on 403 for want of a scope. */
  requiredScope: z.string().optional(),
  /** Named on 429. */
  limit: rateLimitDetail.optional(),
};

function v2Body<Code extends ErrorCode>(code: Code) {
  return z.looseObject({ ...v2Fields, code: z.literal(code) }).meta({ id: code });
}

/** The v2 error schemas, each named as its status: the interface names the first five exactly so. */
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
 * The `type` of an inference error by status, in the words that clients of chat services already switch on.
 * The nested `error.code` carries the reason in lower case, or this type where there is nothing finer to say.
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

/** One body that both kinds of chat client read: the flat one and the nested one. */
export const inferenceErrorBody = z
  .looseObject({
    object: z.literal('error'),
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.int(),
    error: inferenceErrorObject,
    request_id: z.string(),
    /** Present on 422: what is wrong with which field. */
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

/** The one event that ends a stream that failed after its first byte. No `[DONE]` follows it. */
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

/** What ends a stream of a family that failed half way; null where the stream just ends and is taken up again. */
export function streamErrorFor(family: ErrorFamily): z.ZodType | null {
  return family === 'inference' ? inferenceStreamError : null;
}

/** The body an operation of a family answers a status with. */
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
