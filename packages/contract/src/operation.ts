import type { z } from 'zod';
import type { ErrorFamily } from './errors/definition.ts';
import type { Reason } from './errors.ts';
import type { Scope } from './scopes.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** The OpenAPI document an operation is published in. */
export type DocumentName = 'v1' | 'v2' | 'admin' | 'supplier';

export type { ErrorFamily } from './errors/definition.ts';

export interface OperationResponse {
  readonly status: 200 | 201 | 202 | 204;
  readonly schema: z.ZodType;
  /** The operation may also answer as server-sent events: by `Accept`, or by a field of its body. */
  readonly sse?: true;
  /** The JSON carried by one `data:` line when the answer is a stream. */
  readonly event?: z.ZodType;
  /** The media type of a plain answer, when it is not JSON. */
  readonly contentType?: string;
  /** The answer carries an ETag, and a request that names it in `If-None-Match` is answered 304 with no body. */
  readonly revalidates?: true;
  /** Headers that are part of the promise, by name, each with what it carries. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * One operation of the service, as data. Routes, OpenAPI, the SDK, the docs and the coverage tests are all
 * read from this; nothing about an operation's face is written down anywhere else.
 */
export interface Operation {
  readonly id: string;
  readonly method: Method;
  /** With parameters in braces: `/v2/api-keys/{keyId}`. */
  readonly path: `/${string}`;
  /** Further paths that answer exactly the same. */
  readonly aliases?: readonly `/${string}`[];
  readonly document: DocumentName;
  /** `interface`: listed in docs/interface.md, so it answers only the statuses listed there plus 429 and 503. */
  readonly source: 'interface' | 'own';
  readonly errorFamily: ErrorFamily;
  /**
   * `key`: an API key, or a person who is signed in and names the organisation they act for. `person`: a person who is
   * signed in, whatever their organisations; no API key. `none`: anyone.
   */
  readonly auth: 'key' | 'person' | 'none';
  /** The scope a caller must hold; null admits every one. A `person` needs none. */
  readonly scope: Scope | null;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /**
   * The caller proves itself by a signature over the very bytes of the body: the handler gets the text as it was sent,
   * verifies it and only then reads it. `body` merely documents it. Counted apart from other callers without a key.
   */
  readonly signedBody?: true;
  readonly response: OperationResponse;
  /** Every status it may answer besides the one of `response`, ascending. */
  readonly errors: readonly number[];
  /** `key`: honours `Idempotency-Key`, so its effect and its replay row share one transaction. */
  readonly idempotency: 'key' | 'none';
  /** What absent and foreign ids answer, identically. */
  readonly notFoundReason?: Reason;
  /** A body of just these fields was meant for another operation; it is refused by the reason that names it. */
  readonly misdirected?: { readonly fields: readonly string[]; readonly reason: Reason };
  /** Top-level fields of the answer that hold a secret: stored, and so replayed, as null. */
  readonly redactForReplay?: readonly string[];
}

/** Keeps the literal and the schema types of an operation, so handlers and clients infer theirs from it. */
export function defineOperation<const Op extends Operation>(operation: Op): Op {
  return operation;
}

/** No parameters, query or body declared. */
export type NoInput = Record<string, never>;

/** Path parameters as a handler receives them. */
export type Params<Op extends Operation> = Op extends { readonly params: infer S extends z.ZodType }
  ? z.output<S>
  : NoInput;

/** The query as a handler receives it: parsed, defaults filled in. */
export type Query<Op extends Operation> = Op extends { readonly query: infer S extends z.ZodType }
  ? z.output<S>
  : NoInput;

/** The body as a handler receives it: parsed, defaults filled in; a signed one as the text that was sent. */
export type Body<Op extends Operation> = Op extends { readonly signedBody: true }
  ? string
  : Op extends { readonly body: infer S extends z.ZodType }
    ? z.output<S>
    : NoInput;

/** The body as a client sends it: fields with a default may be left out. */
export type BodyInput<Op extends Operation> = Op extends { readonly body: infer S extends z.ZodType }
  ? z.input<S>
  : NoInput;

/** The query as a client sends it. */
export type QueryInput<Op extends Operation> = Op extends { readonly query: infer S extends z.ZodType }
  ? z.input<S>
  : NoInput;

/** The answer, whole: what is sent is what the handler returns, so a default fills nothing in for it. */
export type ResponseBody<Op extends Operation> = z.output<Op['response']['schema']>;
