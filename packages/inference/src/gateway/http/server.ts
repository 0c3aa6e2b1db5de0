import type { Clock } from '@millrace/platform/clock';
import { Fault, renderFault, type FaultTarget } from '@millrace/platform/fault';
import type { BodyBudget } from '@millrace/platform/http/body-budget';
import { demoHeader } from '@millrace/platform/http/demo-header';
import { createBodyDrain, type BodyDrain } from '@millrace/platform/http/body-drain';
import type { IdSource, RequestId } from '@millrace/platform/ids';
import type { HealthHandler } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { MisroutedFinder } from '@millrace/platform/http/misrouted';
import { rateLimitFault } from '@millrace/platform/http/rate-headers';
import type { RateDecision } from '@millrace/platform/limiter';
import { startTrace, type RecordedSpan } from '@millrace/platform/telemetry';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { inferenceFaultTarget, responseHeaders, sendFaultAndDrain, sendJson } from './responses.ts';
import { handleBrokenConnections } from './broken-connections.ts';
import { noteError, RouteMetrics } from './request-metrics.ts';
import type { RequestCounter } from './request-counter.ts';
import type { Cors } from './cors.ts';
import type { Authenticator, Caller } from './authenticator.ts';
import type { FundingStatus } from './funding-status.ts';
import type { GatewayLimits } from './gateway-limits.ts';
import { readJson } from './read-json-body.ts';
import type { InFlightSet } from './in-flight-set.ts';

/** HTTP entry point: routes the request, authenticates the caller, reads the size-limited body. */

export interface GatewayRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: RequestId;
  readonly caller: Caller;
  /** Parsed JSON; undefined for operations without a body. */
  readonly body: unknown;
  /** Decoded variable parts of the path. */
  readonly params: readonly string[];
  readonly onRate: (rate: RateDecision) => void;
  /** Null if the request is not sampled. */
  readonly trace: RecordedSpan | null;
  /** Null until the request was counted. */
  readonly rate: () => RateDecision | null;
}

export interface GatewayRoute {
  readonly method: 'GET' | 'POST';
  /** The whole path, or an expression with a group for each variable part. */
  readonly path: string | RegExp;
  /** The label of its metrics. */
  readonly metrics: RouteMetrics;
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
  /** Memory budget of arriving bodies. */
  readonly bodies: BodyBudget;
  readonly routes: readonly GatewayRoute[];
  readonly isDraining: () => boolean;
  /** Responses that have not been sent completely. */
  readonly open: InFlightSet<ServerResponse>;
  readonly crossOrigin: Cors;
  readonly isDemo: boolean;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly health: HealthHandler;
  readonly misrouted: MisroutedFinder;
}

/** Requests without a route. */
const noRoute = new RouteMetrics('none');
const noParams: readonly string[] = [];

interface RouteMatch {
  readonly route: GatewayRoute;
  readonly params: readonly string[];
}

export function createGatewayServer(options: GatewayServerOptions): Server {
  const { deps, routes, open } = options;
  const context = { ...options, drain: createBodyDrain(deps.clock), findRoute: createRouteFinder(routes) };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (!options.health(request, response)) new InboundRequest(context, request, response).begin();
  };
  const timeouts = { requestTimeout: 60_000, headersTimeout: 10_000, keepAliveTimeout: 72_000 };
  const server =
    options.tls === null
      ? createServer(timeouts, handle)
      : createTlsServer({ ...timeouts, ...options.tls, minVersion: 'TLSv1.2' }, handle);
  handleBrokenConnections(server, deps, open);
  return server;
}

/** Null: no route has this path. */
type RouteFinder = (method: string, path: string) => RouteMatch | null;

function createRouteFinder(routes: readonly GatewayRoute[]): RouteFinder {
  const exact = Map.groupBy(routes, ({ path }) => path);
  const varying = routes.filter(({ path }) => path instanceof RegExp);
  return (method, path) => {
    const ofPath = exact.get(path)?.map((route) => ({ route, params: noParams }));
    const found = ofPath ?? matchPatternRoutes(varying, path);
    if (found.length === 0) return null;
    const fitting = found.find(({ route }) => route.method === method);
    if (fitting === undefined) throw new Fault('METHOD_NOT_ALLOWED');
    return fitting;
  };
}

/** Bodies up to this size usually arrive with their headers, so their limits are counted together with the reservation. */
const shortBodyBytes = 64 * 1024;

interface InboundContext extends GatewayServerOptions {
  readonly drain: BodyDrain;
  readonly findRoute: RouteFinder;
}

/** A request before its operation: authentication, limits and body. */
class InboundRequest {
  readonly #context: InboundContext;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #requestId: RequestId;
  #rate: RateDecision | null = null;
  #caller: Caller | null = null;
  #trace: RecordedSpan | null = null;
  #faultTarget: FaultTarget = inferenceFaultTarget;
  #metrics = noRoute;

  constructor(context: InboundContext, request: IncomingMessage, response: ServerResponse) {
    this.#context = context;
    this.#request = request;
    this.#response = response;
    this.#requestId = context.deps.ids.next('req');
  }

  begin(): void {
    const { open, isDraining, crossOrigin, isDemo, findRoute, deps } = this.#context;
    const response = this.#response;
    const entry = open.add(response);
    const startedMs = deps.clock.monotonicMs();
    response.on('close', () => {
      open.leave(entry);
      this.#metrics.ended(response, deps.clock.monotonicMs() - startedMs);
    });
    if (isDraining()) response.shouldKeepAlive = false;
    if (isDemo) response.setHeader(demoHeader.name, demoHeader.value);
    if (crossOrigin.apply(this.#request, response)) {
      response.writeHead(204, responseHeaders(this.#requestId, null)).end();
      return;
    }
    try {
      const { url = '', method = '' } = this.#request;
      const queryAt = url.indexOf('?');
      const path = queryAt < 0 ? url : url.slice(0, queryAt);
      const match = findRoute(method, path);
      if (match === null) throw this.#faultWithoutRoute(path);
      this.#metrics = match.route.metrics;
      this.#trace = this.#startTrace(match);
      this.#admit(match, (caller) => this.#receive(match, caller));
    } catch (error) {
      this.#fail(error);
    }
  }

  #startTrace({ route }: RouteMatch): RecordedSpan | null {
    const path = String(route.path);
    const { traceparent } = this.#request.headers;
    const linked = typeof traceparent === 'string' ? traceparent : undefined;
    const root = startTrace(`${route.method} ${path}`, { kind: 'server', linked });
    if (root === null) return null;
    const response = this.#response;
    root.set({
      'http.request.method': route.method,
      'http.route': path,
      'millrace.request_id': this.#requestId,
    });
    response.on('close', () => {
      root.set({ 'http.response.status_code': response.statusCode });
      root.end(response.statusCode >= 500 ? String(response.statusCode) : null);
    });
    return root;
  }

  #faultWithoutRoute(path: string): Fault {
    const found = this.#context.misrouted(path, this.#request.headers.host);
    if (found === null) return new Fault('ROUTE_NOT_FOUND');
    this.#faultTarget = found.target;
    return found.fault;
  }

  #admit({ route }: RouteMatch, take: (caller: Caller) => void): void {
    const span = this.#trace?.child('authenticate');
    try {
      const caller = this.#context.deps.authenticator.admit(this.#request, route.scope);
      if (caller instanceof Promise) {
        const looked = caller.finally(() => span?.end());
        looked.then(take).catch((error: unknown) => this.#fail(error));
        return;
      }
      span?.end();
      take(caller);
    } catch (error) {
      span?.end();
      this.#fail(error);
    }
  }

  #receive(match: RouteMatch, caller: Caller): void {
    const request = this.#request;
    const { deps, bodies } = this.#context;
    this.#caller = caller;
    if (match.route.method === 'GET') {
      const counted = this.#countRead(caller);
      counted
        .then(() => this.#serve(match, caller, undefined))
        .catch((error: unknown) => this.#respond(error));
      return;
    }
    // Open the reservation before any await: bytes that arrive meanwhile already take memory.
    const share = bodies.open({ subject: caller.key.orgId, isFunded: deps.funds.isFunded(caller) });
    const read = (): void =>
      readJson(request, {
        limits: deps.limits,
        share,
        // A body can take a minute to arrive, so the key is checked again.
        done: (body) => this.#admit(match, (current) => this.#serve(match, current, body)),
        fail: (error) => this.#fail(error),
      });
    const length = request.headers['content-length'];
    if (length !== undefined && Number(length) <= shortBodyBytes) read();
    else
      this.#rejectIfRateLimited(caller).then(read, (error: unknown) => {
        share.release();
        this.#fail(error);
      });
  }

  #serve({ route, params }: RouteMatch, caller: Caller, body: unknown): void {
    try {
      const served = route.serve({
        request: this.#request,
        response: this.#response,
        requestId: this.#requestId,
        caller,
        params,
        body,
        onRate: (rate) => void (this.#rate = rate),
        trace: this.#trace,
        rate: () => this.#rate,
      });
      served?.catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Refused requests also count against the caller's rate limit. */
  #fail(error: unknown): void {
    // Drop the rest of the body, because unread bytes of refused requests take memory.
    if (!this.#request.complete) this.#request.resume();
    if (this.#rate !== null) this.#respond(error);
    else void this.#respondCounted(error);
  }

  #respond(error: unknown): void {
    const requestId = this.#requestId;
    const { deps, drain } = this.#context;
    if (!(error instanceof Fault))
      deps.log.error({ err: error, requestId }, 'request failed with an internal error');
    noteError(this.#response, error);
    const rendered = renderFault(error, this.#faultTarget, requestId);
    const headers = { ...responseHeaders(requestId, this.#rate), ...rendered.headers };
    if (this.#request.complete)
      sendJson(this.#response, rendered.status, headers, JSON.stringify(rendered.body));
    else sendFaultAndDrain(this.#request, this.#response, drain, { ...rendered, headers });
  }

  /** Reads reserve no credit, so their limits need a separate call. */
  async #countRead(caller: Caller): Promise<void> {
    this.#rate = await this.#context.deps.counting.ofCaller(caller);
    if (this.#rate.refusedBy !== null) throw rateLimitFault(this.#rate.refusedBy);
  }

  /** Refuses a rate-limited caller before its body is read. Does not count: that happens once the body is known. */
  async #rejectIfRateLimited(caller: Caller): Promise<void> {
    const rate = await this.#context.deps.counting.peekAtCaller(caller);
    if (rate.refusedBy === null) return;
    this.#rate = rate;
    throw rateLimitFault(rate.refusedBy);
  }

  async #respondCounted(error: unknown): Promise<void> {
    this.#respond(await this.#countRejection(error).catch(() => error));
  }

  /** Returns the refusal, or a rate-limit fault after too many refusals. */
  async #countRejection(error: unknown): Promise<unknown> {
    const { counting } = this.#context.deps;
    if (this.#caller === null) {
      const counted = await counting.countFailedAuth(this.#request, error);
      if (counted.rate !== null) this.#rate = counted.rate;
      return counted.error;
    }
    this.#rate = await counting.ofCaller(this.#caller);
    return this.#rate.refusedBy === null ? error : rateLimitFault(this.#rate.refusedBy);
  }
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
