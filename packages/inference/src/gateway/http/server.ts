import type { Clock } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import type { BodyBudget } from '@millrace/platform/http/body-budget';
import { createBodyDrain } from '@millrace/platform/http/body-drain';
import type { IdSource, RequestId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { rateLimitFault } from '@millrace/platform/http/rate-headers';
import type { RateDecision } from '@millrace/platform/limiter';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { responseHeaders, sendFault, sendFaultAndDrain } from './responses.ts';
import { handleBrokenConnections } from './broken-connections.ts';
import type { RequestCounter } from './request-counter.ts';
import type { Cors } from './cors.ts';
import type { Authenticator, Caller } from './authenticator.ts';
import type { FundingStatus } from './funding-status.ts';
import type { GatewayLimits } from './gateway-limits.ts';
import { readJson } from './read-json-body.ts';
import type { InFlightSet } from './in-flight-set.ts';

/** The front of the gateway: which operation is meant, who calls, and the body, read once and bounded. */

export interface GatewayRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: RequestId;
  readonly caller: Caller;
  /** Parsed JSON; undefined for operations without one. */
  readonly body: unknown;
  /** Parts of the path that vary, decoded. */
  readonly params: readonly string[];
  readonly onRate: (rate: RateDecision) => void;
  /** Null until it was counted. */
  readonly rate: () => RateDecision | null;
}

export interface GatewayRoute {
  readonly method: 'GET' | 'POST';
  /** The whole path, or an expression with a group for each part that varies. */
  readonly path: string | RegExp;
  readonly scope: string;
  serve(request: GatewayRequest): void | Promise<void>;
}

export interface ServerDeps {
  readonly clock: Clock;
  readonly ids: Pick<IdSource, 'next'>;
  readonly log: Logger;
  readonly authenticator: Authenticator;
  readonly counting: RequestCounter;
  readonly funds: FundingStatus;
  readonly limits: GatewayLimits;
}

export interface GatewayServerOptions {
  readonly deps: ServerDeps;
  /** The memory that bodies may hold while they arrive. */
  readonly bodies: BodyBudget;
  readonly routes: readonly GatewayRoute[];
  readonly isDraining: () => boolean;
  /** Every answer that has not gone out to its end. */
  readonly open: InFlightSet<ServerResponse>;
  readonly crossOrigin: Cors;
  readonly tls: { readonly cert: string; readonly key: string } | null;
}

const noParams: readonly string[] = [];

interface RouteMatch {
  readonly route: GatewayRoute;
  readonly params: readonly string[];
}

export function createGatewayServer(options: GatewayServerOptions): Server {
  const { deps, routes, open } = options;
  const drain = createBodyDrain(deps.clock);
  const exact = new Map<string, GatewayRoute[]>();
  const varying = routes.filter(({ path }) => path instanceof RegExp);
  for (const route of routes) {
    if (typeof route.path !== 'string') continue;
    exact.set(route.path, [...(exact.get(route.path) ?? []), route]);
  }

  function find(method: string, path: string): RouteMatch {
    const found =
      exact.get(path)?.map((route) => ({ route, params: noParams })) ?? matchPatternRoutes(varying, path);
    if (found.length === 0) throw new Fault('ROUTE_NOT_FOUND');
    const fitting = found.find(({ route }) => route.method === method);
    if (fitting === undefined) throw new Fault('METHOD_NOT_ALLOWED');
    return fitting;
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const requestId = deps.ids.next('req');
    let rate: RateDecision | null = null;
    let known: Caller | null = null;
    const respond = (error: unknown): void => {
      if (!(error instanceof Fault))
        deps.log.error({ err: error, requestId }, 'a request failed for a reason of ours');
      const headers = responseHeaders(requestId, rate);
      if (request.complete) sendFault(response, error, requestId, headers);
      else sendFaultAndDrain({ request, response, drain }, error, requestId, headers);
    };
    const onRate = (decision: RateDecision): void => {
      rate = decision;
    };
    /** Who was refused before it was paid for has made a request all the same. */
    const fail = (error: unknown): void => {
      // The rest of the body is dropped from here on: unread bytes of refused requests would take memory while they wait.
      if (!request.complete) request.resume();
      if (rate !== null) respond(error);
      else
        countRejection(deps.counting, { request, caller: known, error, onRate }).then(respond, () =>
          respond(error),
        );
    };
    const entry = open.add(response);
    response.on('close', () => open.leave(entry));
    if (options.isDraining()) response.shouldKeepAlive = false;
    if (options.crossOrigin.apply(request, response)) {
      response.writeHead(204, responseHeaders(requestId, null)).end();
      return;
    }
    try {
      const url = request.url ?? '';
      const queryAt = url.indexOf('?');
      const { route, params } = find(request.method ?? '', queryAt < 0 ? url : url.slice(0, queryAt));
      const admit = (take: (caller: Caller) => void): void => {
        try {
          const caller = deps.authenticator.admit(request, route.scope);
          if (caller instanceof Promise) caller.then(take).catch(fail);
          else take(caller);
        } catch (error) {
          fail(error);
        }
      };
      const serve = (caller: Caller, body: unknown): void => {
        try {
          route
            .serve({ request, response, requestId, caller, params, body, onRate, rate: () => rate })
            ?.catch(fail);
        } catch (error) {
          fail(error);
        }
      };
      admit((caller) => {
        known = caller;
        if (route.method === 'GET') {
          const counted = countRead(deps.counting, caller, onRate);
          counted.then(() => serve(caller, undefined)).catch(respond);
          return;
        }
        // Opened before anything is waited for: bytes that arrive meanwhile already take memory.
        const share = options.bodies.open({
          subject: caller.key.orgId,
          isFunded: deps.funds.isFunded(caller),
        });
        const read = (): void =>
          readJson(request, {
            limits: deps.limits,
            share,
            // A body may take a minute to arrive, and its key may be revoked meanwhile: the caller is judged again.
            done: (body) => admit((current) => serve(current, body)),
            fail,
          });
        const refuse = (error: unknown): void => {
          share.release();
          fail(error);
        };
        if (isShortBody(request)) read();
        else rejectIfRateLimited(deps.counting, caller, onRate).then(read, refuse);
      });
    } catch (error) {
      fail(error);
    }
  }

  const timeouts = { requestTimeout: 60_000, headersTimeout: 10_000, keepAliveTimeout: 72_000 };
  const server =
    options.tls === null
      ? createServer(timeouts, handle)
      : createTlsServer({ ...timeouts, ...options.tls, minVersion: 'TLSv1.2' }, handle);
  handleBrokenConnections(server, deps, open);
  return server;
}

/** Reading costs no money, so its limits are a call of their own. */
async function countRead(
  counting: RequestCounter,
  caller: Caller,
  onRate: (rate: RateDecision) => void,
): Promise<undefined> {
  const rate = await counting.ofCaller(caller);
  onRate(rate);
  if (rate.refusedBy !== null) throw rateLimitFault(rate.refusedBy);
  return undefined;
}

/** Bodies up to this size usually arrive with their headers: their limits are counted with their money, in one call. */
const shortBodyBytes = 64 * 1024;

function isShortBody(request: IncomingMessage): boolean {
  const announced = request.headers['content-length'];
  return announced !== undefined && Number(announced) <= shortBodyBytes;
}

/** Refuses a caller whose limits are used up before the body is read. Counts nothing: that is done once the body is known. */
async function rejectIfRateLimited(
  counting: RequestCounter,
  caller: Caller,
  onRate: (rate: RateDecision) => void,
): Promise<undefined> {
  const rate = await counting.peekAtCaller(caller);
  if (rate.refusedBy === null) return undefined;
  onRate(rate);
  throw rateLimitFault(rate.refusedBy);
}

/** What the client is told: its refusal, or that it was refused too often. */
async function countRejection(
  counting: RequestCounter,
  refused: {
    readonly request: IncomingMessage;
    readonly caller: Caller | null;
    readonly error: unknown;
    readonly onRate: (rate: RateDecision) => void;
  },
): Promise<unknown> {
  const { request, caller, error, onRate } = refused;
  if (caller === null) {
    const counted = await counting.countFailedAuth(request, error);
    if (counted.rate !== null) onRate(counted.rate);
    return counted.error;
  }
  const rate = await counting.ofCaller(caller);
  onRate(rate);
  return rate.refusedBy === null ? error : rateLimitFault(rate.refusedBy);
}

function matchPatternRoutes(routes: readonly GatewayRoute[], path: string): RouteMatch[] {
  return routes.flatMap((route) => {
    const match = route.path instanceof RegExp ? route.path.exec(path) : null;
    return match === null ? [] : [{ route, params: match.slice(1).map(decode) }];
  });
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Fault('ROUTE_NOT_FOUND');
  }
}
