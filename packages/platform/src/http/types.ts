import type { Readable } from 'node:stream';
import type { ResponseBody, Body, Operation, Params, PlatformRole, Query, Scope } from '@millrace/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../clock/index.ts';
import type { Db, TransactionOptions, Tx } from '../db/index.ts';
import type { Mode } from '../envelope/index.ts';
import type { IdSource, KeyId, OrgId, RequestId, SessionId, UserId } from '../ids/index.ts';
import type { Limiter } from '../limiter/index.ts';
import type { Logger } from '../log/index.ts';
import type { Traceparent } from '../telemetry/index.ts';
import type { BodyBudgetLimits } from './body/body-budget.ts';
import type { ReadTextOptions } from './body-text.ts';
import type { MisroutedFinder } from './misrouted.ts';
import type { OperationResult } from './idempotency/idempotency.ts';
import type { DeprecationNotice } from './response/deprecation.ts';
import type { BytesReply, Reply, SseReply } from './response/reply.ts';
import type { SseLimits } from './response/sse.ts';

/** Rate limits that apply to each request of a principal. Other limits of a key belong to their features. */
export interface PrincipalLimits {
  /** Requests per minute of the organisation over all keys. */
  readonly organisationRpm: number;
  /** Requests per minute of this key; null if the key has no separate limit. */
  readonly keyRpm: number | null;
}

/** The authenticated caller: an API key or a session in an organisation, both with a user. */
export interface Principal {
  readonly kind: 'key' | 'session';
  /** For a session the id of the member key, which is a row among the API keys but not a usable key. */
  readonly keyId: KeyId;
  readonly orgId: OrgId;
  readonly userId: UserId;
  readonly mode: Mode;
  /** The scopes of the key, limited to those that the roles of its user grant. */
  readonly scopes: ReadonlySet<Scope>;
  readonly platformRoles: ReadonlySet<PlatformRole>;
  readonly limits: PrincipalLimits;
  readonly orgStatus: 'active' | 'suspended';
  /** The organisation has made its first deposit. */
  readonly orgFunded: boolean;
}

/**
 * Authenticates a key or throws a Fault. It must refuse a wrong checksum before any look-up, and check expiry, revocation,
 * allowed addresses and the status of the organisation.
 */
export type Authenticate = (attempt: {
  readonly key: string;
  readonly clientIp: string;
}) => Promise<Principal>;

/** A signed-in user, independent of an organisation. */
export interface SessionUser {
  readonly userId: UserId;
  readonly sessionId: SessionId;
  /** Lower case and verified. */
  readonly email: string;
  readonly name: string;
}

/** Authenticates session tokens, or throws a Fault. */
export interface Sessions {
  /** The origin of pages that may use the cookie, such as `https://cloud.example.com`. */
  readonly origin: string;
  /** The token in a `Cookie` header; null if it is missing or its signature is wrong. */
  tokenIn(cookies: string | undefined): string | null;
  person(token: string): Promise<SessionUser>;
  /** `organisation` and `mode` are the raw headers. */
  member(
    token: string,
    named: { readonly organisation: string | undefined; readonly mode: string | undefined },
  ): Promise<{ readonly principal: Principal; readonly person: SessionUser }>;
}

export interface RequestContext {
  readonly requestId: RequestId;
  /** Set on operations with `auth: 'key'`; their handlers use `requirePrincipal`. */
  readonly principal: Principal | null;
  /** Set for sessions, and always on operations with `auth: 'person'`, whose handlers use `requireSessionUser`. */
  readonly person: SessionUser | null;
  /** The client address, resolved through trusted proxies only. */
  readonly clientIp: string;
  readonly traceparent: Traceparent | undefined;
  readonly idempotencyKey: string | undefined;
  /** Unknown request fields, which `X-Ignored-Fields` lists. */
  readonly ignoredFields: readonly string[];
  readonly log: Logger;
  /** Aborts if the client disconnects before the response is complete. A drain does not abort requests. */
  readonly signal: AbortSignal;
  readonly wantsEventStream: boolean;
  /** The raw path and query, for `linkNext`. */
  readonly url: string;
  /** A request header by lowercase name. Repeated headers are joined as Node does. */
  header(name: string): string | undefined;
}

/**
 * Opens the only transaction of the request. For operations with `idempotency: 'key'` and the header, it also claims
 * the key, replays an earlier response instead of running `work`, and stores the new response in the transaction.
 * `work` may run again after a serialization failure, so it must keep no state outside `tx`.
 */
export type Transact<Op extends Operation> = (
  options: TransactionOptions,
  work: (tx: Tx) => Promise<OperationResult<Op>>,
) => Promise<Reply<ResponseBody<Op>>>;

export interface HandlerInput<Op extends Operation> {
  readonly params: Params<Op>;
  readonly query: Query<Op>;
  readonly body: Body<Op>;
  readonly context: RequestContext;
  readonly transact: Transact<Op>;
}

/** A plain body gets the operation's status; `reply(…)` adds headers, `bytesReply(…)` sends bytes, `sse(…)` streams. */
export type HandlerResult<Op extends Operation> =
  | ResponseBody<Op>
  | Reply<ResponseBody<Op>>
  | BytesReply
  | SseReply;

export type Handler<Op extends Operation> = (call: HandlerInput<Op>) => Promise<HandlerResult<Op>>;

/** Sizes and times, with defaults in limits.ts. */
export interface HttpLimits extends SseLimits {
  readonly bodyBytes: number;
  /** The maximum time for a body to arrive. Less than `handlerTimeoutMs`, which includes the body. */
  readonly bodyTimeoutMs: number;
  /** Limits of all bodies that arrive at the same time. */
  readonly bodies: BodyBudgetLimits;
  readonly headerBytes: number;
  readonly connectionTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly handlerTimeoutMs: number;
  readonly maxRequestsPerSocket: number;
  /** How long a client may take to read a streamed response, whose bytes stay in memory. */
  readonly sendTimeoutMs: number;
  /** Requests per minute of one anonymous address block. */
  readonly anonymousRpm: number;
  /** Requests per minute of one address block to operations with a signed body. */
  readonly signedRpm: number;
  /** Files per minute of one address block. A page loads about twenty, and many users may share an address. */
  readonly fileRpm: number;
  /** Requests per minute of one signed-in user, over all tabs and organisations. */
  readonly personRpm: number;
  /** Failed authentications per minute of one address block. */
  readonly failedAuthRpm: number;
}

/** The part of a contract that the server reads. */
export interface ServedContract {
  readonly operations: Readonly<Record<string, Operation>>;
  readonly deprecations?: Readonly<Record<string, DeprecationNotice>>;
}

export interface HttpServerOptions {
  readonly contract: ServedContract;
  readonly authenticate: Authenticate;
  /** Without it, only API keys are accepted. */
  readonly sessions?: Sessions | undefined;
  readonly limiter: Limiter;
  readonly log: Logger;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Required if a served handler calls `transact`. */
  readonly db?: Db;
  /** CIDR blocks whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  readonly limits?: Partial<HttpLimits>;
  /** Checks every response against its schema and responds 500 on a mismatch; for development and tests. */
  readonly validateResponses: boolean;
  /** Marks every response as one of a demo, because its amounts are play money. */
  readonly isDemo?: boolean;
  /** Once aborted, responses close their connections, so that clients are elsewhere before the server drains. */
  readonly leaving?: AbortSignal;
  /** Finds requests that belong to another process of the installation. Default: none. */
  readonly misrouted?: MisroutedFinder;
  /** Serves HTTPS with this certificate; otherwise plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface HttpServer {
  readonly fastify: FastifyInstance;
  /** Binds a handler to its operation at its path and all aliases. Throws if bound twice or not in the contract. */
  serve<Op extends Operation>(operation: Op, handler: Handler<Op>): void;
  /** Ids of the bound operations, in order of binding. */
  served(): readonly string[];
  /** Reads a body as text within the body budget. */
  readonly readText: (request: FastifyRequest, payload: Readable, reading: ReadTextOptions) => void;
  /** An `onRequest` for routes without an operation: counts the caller by address and sets the rate headers. */
  readonly admitAnonymous: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** Like `admitAnonymous`, with a separate limit for static files, which cost little. */
  readonly admitFile: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** The client address of a request, for routes without an operation. */
  readonly clientIpOf: (request: FastifyRequest) => string;
  /** Resolves with the bound address. */
  listen(at: {
    readonly host: string;
    readonly port: number;
  }): Promise<{ readonly host: string; readonly port: number }>;
  /** Refuses new requests, ends event streams and waits for running requests. Safe to call twice. */
  drain(): Promise<void>;
  close(): Promise<void>;
}
