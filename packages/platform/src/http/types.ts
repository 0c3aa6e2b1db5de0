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
import type { OperationResult } from './idempotency/idempotency.ts';
import type { DeprecationNotice } from './response/deprecation.ts';
import type { BytesReply, Reply, SseReply } from './response/reply.ts';
import type { SseLimits } from './response/sse.ts';

/** The limits that bear on each request of a principal. A key's further limits belong to the features. */
export interface PrincipalLimits {
  /** Requests a minute of the whole organisation, counted over all its keys. */
  readonly organisationRpm: number;
  /** Requests a minute of this key alone, when it has a limit of its own. */
  readonly keyRpm: number | null;
}

/** Who is calling for an organisation: a key, or a member who is signed in, and with either a user. */
export interface Principal {
  readonly kind: 'key' | 'session';
  /** Of a session it is the member's seat: a row among the keys that is no key. */
  readonly keyId: KeyId;
  readonly orgId: OrgId;
  readonly userId: UserId;
  readonly mode: Mode;
  /** What this caller may do: a key's own scopes, never more than its user's roles grant. */
  readonly scopes: ReadonlySet<Scope>;
  readonly platformRoles: ReadonlySet<PlatformRole>;
  readonly limits: PrincipalLimits;
  readonly orgStatus: 'active' | 'suspended';
  /** Its first deposits were made. */
  readonly orgFunded: boolean;
}

/**
 * Turns a presented key into a principal, or throws a Fault. It must refuse a key whose checksum is wrong
 * before any look-up, and check expiry, revocation, allowed addresses and the organisation's status.
 */
export type Authenticate = (attempt: {
  readonly key: string;
  readonly clientIp: string;
}) => Promise<Principal>;

/** Somebody who is signed in, whatever the organisation. */
export interface SessionUser {
  readonly userId: UserId;
  readonly sessionId: SessionId;
  /** Lower case, and shown to be theirs. */
  readonly email: string;
  readonly name: string;
}

/** Turns what a signed-in browser or program sends into who is calling, or throws a Fault. */
export interface Sessions {
  /** Of the pages whose requests count with the cookie, such as `https://cloud.example.com`. */
  readonly origin: string;
  /** The token in a `Cookie` header; null when there is none, or it was not made here. */
  tokenIn(cookies: string | undefined): string | null;
  person(token: string): Promise<SessionUser>;
  /** `organisation` and `mode` are the headers as they were sent. */
  member(
    token: string,
    named: { readonly organisation: string | undefined; readonly mode: string | undefined },
  ): Promise<{ readonly principal: Principal; readonly person: SessionUser }>;
}

export interface RequestContext {
  readonly requestId: RequestId;
  /** Set on operations with `auth: 'key'`. Their handlers use `requirePrincipal`. */
  readonly principal: Principal | null;
  /** Set when the caller is signed in, and so always on operations with `auth: 'person'`: see `requireSessionUser`. */
  readonly person: SessionUser | null;
  /** The address the request came from, through trusted proxies only. */
  readonly clientIp: string;
  readonly traceparent: Traceparent | undefined;
  readonly idempotencyKey: string | undefined;
  /** Request fields that no schema knows: already named to the caller in `X-Ignored-Fields`. */
  readonly ignoredFields: readonly string[];
  readonly log: Logger;
  /** Aborts when the client leaves before its answer is out. A drain lets requests end. */
  readonly signal: AbortSignal;
  /** The `Accept` header asked for server-sent events. */
  readonly wantsEventStream: boolean;
  /** Path and query as they were sent, for `linkNext`. */
  readonly url: string;
  /** One request header, lowercase name. Repeated headers are joined as Node joins them. */
  header(name: string): string | undefined;
}

/**
 * Opens the ONE transaction of the request. On operations with `idempotency: 'key'` and the header present
 * it also claims the key, replays an earlier answer instead of running `work`, and stores the new answer
 * beside the effect. `work` may run again after a serialization failure, so it keeps no state outside `tx`.
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

/**
 * A bare answer gets the operation's status; `reply(…)` adds headers; `bytesReply(…)` has its JSON already; `sse(…)` answers
 * as a stream.
 */
export type HandlerResult<Op extends Operation> =
  | ResponseBody<Op>
  | Reply<ResponseBody<Op>>
  | BytesReply
  | SseReply;

export type Handler<Op extends Operation> = (call: HandlerInput<Op>) => Promise<HandlerResult<Op>>;

/** Sizes and times; every one has a default in limits.ts. */
export interface HttpLimits extends SseLimits {
  readonly bodyBytes: number;
  /** Within which a body must arrive: less than `handlerTimeoutMs`, which covers the body too. */
  readonly bodyTimeoutMs: number;
  /** Of all bodies that are arriving at once. */
  readonly bodies: BodyBudgetLimits;
  readonly headerBytes: number;
  readonly connectionTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly handlerTimeoutMs: number;
  readonly maxRequestsPerSocket: number;
  /** How long a client may take to read an answer that is sent piece by piece: its bytes stay in memory for as long. */
  readonly sendTimeoutMs: number;
  /** Requests a minute of one anonymous address block. */
  readonly anonymousRpm: number;
  /** Requests a minute of one address block to operations with a signed body. */
  readonly signedRpm: number;
  /** Files a minute that one address block gets: one page is twenty of them, and an office is many people. */
  readonly fileRpm: number;
  /** Requests a minute of one person who is signed in, over all their tabs and organisations. */
  readonly personRpm: number;
  /** Failed authentications a minute of one address block. */
  readonly failedAuthRpm: number;
}

/** The part of a contract the kit reads. */
export interface ServedContract {
  readonly operations: Readonly<Record<string, Operation>>;
  /** By operation id. */
  readonly deprecations?: Readonly<Record<string, DeprecationNotice>>;
}

export interface HttpServerOptions {
  readonly contract: ServedContract;
  readonly authenticate: Authenticate;
  /** Left out, nobody can sign in: keys are all there is. */
  readonly sessions?: Sessions | undefined;
  readonly limiter: Limiter;
  readonly log: Logger;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Needed as soon as an operation whose handler calls `transact` is served. */
  readonly db?: Db;
  /** Addresses in CIDR form whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  readonly limits?: Partial<HttpLimits>;
  /** Check every answer against its schema and answer 500 if it fails: on in development and tests. */
  readonly validateResponses: boolean;
  /** Serve HTTPS with this certificate; plain HTTP otherwise. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface HttpServer {
  readonly fastify: FastifyInstance;
  /** Binds a handler to its operation at its path and all aliases. Throws if bound twice or not in the contract. */
  serve<Op extends Operation>(operation: Op, handler: Handler<Op>): void;
  /** Ids of the operations bound so far, in order of binding. */
  served(): readonly string[];
  /** Reads a body as text, within the memory that bodies may hold while they arrive. */
  readonly readText: (request: FastifyRequest, payload: Readable, reading: ReadTextOptions) => void;
  /** For routes that are no operation, as their `onRequest`: counts the caller by address, with headers. */
  readonly admitAnonymous: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** The same for files that are at hand and alike for everybody: they cost little and are counted by themselves. */
  readonly admitFile: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** The address that a request came from, through trusted proxies only; for routes that are no operation. */
  readonly clientIpOf: (request: FastifyRequest) => string;
  /** Resolves with the address really bound. */
  listen(at: {
    readonly host: string;
    readonly port: number;
  }): Promise<{ readonly host: string; readonly port: number }>;
  /** Refuses new work, ends event streams, waits for running requests. Part of a drain, safe to call twice. */
  drain(): Promise<void>;
  close(): Promise<void>;
}
