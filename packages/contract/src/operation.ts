import type { z } from 'zod';
import type { ErrorFamily } from './errors/definition.ts';
import type { Reason } from './errors.ts';
import type { Scope } from './scopes.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** The OpenAPI document that publishes an operation. */
export type DocumentName = 'v1' | 'v2' | 'admin' | 'supplier';

export type { ErrorFamily } from './errors/definition.ts';

export interface OperationResponse {
  readonly status: 200 | 201 | 202 | 204;
  readonly schema: z.ZodType;
  /** The operation can also respond with server-sent events, selected by `Accept` or by a field of the body. */
  readonly sse?: true;
  /** The JSON in one `data:` line of a stream. */
  readonly event?: z.ZodType;
  /** The media type of the response if it is not JSON. */
  readonly contentType?: string;
  /** The response has an ETag. A request with that ETag in `If-None-Match` gets 304 without a body. */
  readonly revalidates?: true;
  /** Response headers that the operation promises, with descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One operation of the API as data, from which routes, OpenAPI, SDK, docs and tests are derived. */
export interface Operation {
  readonly id: string;
  readonly method: Method;
  /** With parameters in braces: `/v2/api-keys/{keyId}`. */
  readonly path: `/${string}`;
  /** Equivalent paths. */
  readonly aliases?: readonly `/${string}`[];
  readonly document: DocumentName;
  /** `interface`: a baseline operation, with only the statuses of docs/interface.md, plus 429 and 503. */
  readonly source: 'interface' | 'own';
  readonly errorFamily: ErrorFamily;
  /**
   * `key`: an API key, or a signed-in user who names an organisation. `person`: a signed-in user, without an
   * organisation; no API key. `none`: no authentication.
   */
  readonly auth: 'key' | 'person' | 'none';
  /** The required scope; null admits every caller. `person` needs no scope. */
  readonly scope: Scope | null;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /**
   * The caller authenticates by a signature over the exact bytes of the body. The handler gets the text as
   * sent and verifies it before parsing; `body` only documents it. Rate limits count these callers
   * separately.
   */
  readonly signedBody?: true;
  readonly response: OperationResponse;
  /** Every status besides that of `response`, ascending. */
  readonly errors: readonly number[];
  /** `key`: honours `Idempotency-Key`, so the effect and the replay row share one transaction. */
  readonly idempotency: 'key' | 'none';
  /** The reason for absent ids and for ids of other organisations, so that the two look the same. */
  readonly notFoundReason?: Reason;
  /** A body with only these fields belongs to another operation, which the reason names. */
  readonly misdirected?: { readonly fields: readonly string[]; readonly reason: Reason };
  /** Top-level response fields with a secret. They are stored, and so replayed, as null. */
  readonly redactForReplay?: readonly string[];
}

/** Keeps the literal and schema types of an operation, so that handlers and clients can infer theirs. */
export function defineOperation<const Op extends Operation>(operation: Op): Op {
  return operation;
}

export type NoInput = Record<string, never>;

export type Params<Op extends Operation> = Op extends { readonly params: infer S extends z.ZodType }
  ? z.output<S>
  : NoInput;

/** The query as a handler gets it: parsed, with defaults. */
export type Query<Op extends Operation> = Op extends { readonly query: infer S extends z.ZodType }
  ? z.output<S>
  : NoInput;

/** The body as a handler gets it: parsed, with defaults; a signed body as the text that was sent. */
export type Body<Op extends Operation> = Op extends { readonly signedBody: true }
  ? string
  : Op extends { readonly body: infer S extends z.ZodType }
    ? z.output<S>
    : NoInput;

/** The body as a client sends it: fields with a default are optional. */
export type BodyInput<Op extends Operation> = Op extends { readonly body: infer S extends z.ZodType }
  ? z.input<S>
  : NoInput;

export type QueryInput<Op extends Operation> = Op extends { readonly query: infer S extends z.ZodType }
  ? z.input<S>
  : NoInput;

/** The response body as the handler must return it: defaults are not filled in. */
export type ResponseBody<Op extends Operation> = z.output<Op['response']['schema']>;
