import { Fault } from '@millrace/platform/fault';
import type { RequestId } from '@millrace/platform/ids';
import { rateLimitFault } from '@millrace/platform/http/rate-headers';
import type { RateDecision } from '@millrace/platform/limiter';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { answerHeaders, sendFault } from './answers.ts';
import { holdsMoreValuesThan } from '../wire/json-values.ts';
import type { Counting } from './counting.ts';
import type { CrossOrigin } from './cross-origin.ts';
import type { Caller } from './door.ts';
import type { GatewayLimits, GatewayParts } from './parts.ts';
import type { Roster } from './roster.ts';

/** The front of the gateway: which operation is meant, who calls, and the body, read once and bounded. */

export interface Ask {
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
  serve(ask: Ask): void | Promise<void>;
}

export interface GatewayServerOptions {
  readonly parts: Pick<GatewayParts, 'counting' | 'door' | 'ids' | 'log' | 'limits'>;
  readonly routes: readonly GatewayRoute[];
  readonly isDraining: () => boolean;
  /** Every answer that has not gone out to its end. */
  readonly open: Roster<ServerResponse>;
  readonly crossOrigin: CrossOrigin;
  readonly tls: { readonly cert: string; readonly key: string } | null;
}

const noParams: readonly string[] = [];

interface Found {
  readonly route: GatewayRoute;
  readonly params: readonly string[];
}

export function createGatewayServer(options: GatewayServerOptions): Server {
  const { parts, routes, open } = options;
  const exact = new Map<string, GatewayRoute[]>();
  const varying = routes.filter(({ path }) => path instanceof RegExp);
  for (const route of routes) {
    if (typeof route.path !== 'string') continue;
    exact.set(route.path, [...(exact.get(route.path) ?? []), route]);
  }

  function find(method: string, path: string): Found {
    const found =
      exact.get(path)?.map((route) => ({ route, params: noParams })) ?? findVarying(varying, path);
    if (found.length === 0) throw new Fault('ROUTE_NOT_FOUND');
    const fitting = found.find(({ route }) => route.method === method);
    if (fitting === undefined) throw new Fault('METHOD_NOT_ALLOWED');
    return fitting;
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const requestId = parts.ids.next('req');
    let rate: RateDecision | null = null;
    let known: Caller | null = null;
    const answer = (error: unknown): void => {
      if (!(error instanceof Fault))
        parts.log.error({ err: error, requestId }, 'a request failed for a reason of ours');
      // What is left of the body is not waited for.
      if (!request.complete) response.shouldKeepAlive = false;
      sendFault(response, error, requestId, answerHeaders(requestId, rate));
    };
    const onRate = (decision: RateDecision): void => {
      rate = decision;
    };
    /** Who was refused before it was paid for has made a request all the same. */
    const fail = (error: unknown): void => {
      if (rate !== null) answer(error);
      else
        countRefusal(parts.counting, { request, caller: known, error, onRate }).then(answer, () =>
          answer(error),
        );
    };
    const seat = open.add(response);
    response.on('close', () => open.leave(seat));
    if (options.isDraining()) response.shouldKeepAlive = false;
    if (options.crossOrigin.meet(request, response)) {
      response.writeHead(204, answerHeaders(requestId, null)).end();
      return;
    }
    try {
      const url = request.url ?? '';
      const queryAt = url.indexOf('?');
      const { route, params } = find(request.method ?? '', queryAt < 0 ? url : url.slice(0, queryAt));
      const admit = (take: (caller: Caller) => void): void => {
        try {
          const caller = parts.door.admit(request, route.scope);
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
          const counted = countRead(parts.counting, caller, onRate);
          counted.then(() => serve(caller, undefined)).catch(answer);
          return;
        }
        // A body may be on its way for a minute, and a key be revoked meanwhile: who calls is judged again.
        const go = (body: unknown): void => admit((current) => serve(current, body));
        readJson(request, parts.limits, go, fail);
      });
    } catch (error) {
      fail(error);
    }
  }

  const timeouts = { requestTimeout: 60_000, headersTimeout: 10_000, keepAliveTimeout: 72_000 };
  return options.tls === null
    ? createServer(timeouts, handle)
    : createTlsServer({ ...timeouts, ...options.tls, minVersion: 'TLSv1.2' }, handle);
}

/** Reading costs no money, so its limits are a call of their own. */
async function countRead(
  counting: Counting,
  caller: Caller,
  onRate: (rate: RateDecision) => void,
): Promise<undefined> {
  const rate = await counting.ofCaller(caller);
  onRate(rate);
  if (rate.refusedBy !== null) throw rateLimitFault(rate.refusedBy);
  return undefined;
}

/** What the client is told: its refusal, or that it was refused too often. */
async function countRefusal(
  counting: Counting,
  refused: {
    readonly request: IncomingMessage;
    readonly caller: Caller | null;
    readonly error: unknown;
    readonly onRate: (rate: RateDecision) => void;
  },
): Promise<unknown> {
  const { request, caller, error, onRate } = refused;
  if (caller === null) {
    const counted = await counting.ofStranger(request, error);
    if (counted.rate !== null) onRate(counted.rate);
    return counted.error;
  }
  const rate = await counting.ofCaller(caller);
  onRate(rate);
  return rate.refusedBy === null ? error : rateLimitFault(rate.refusedBy);
}

function findVarying(routes: readonly GatewayRoute[], path: string): Found[] {
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

/** The body in one piece, parsed. Callbacks, since a promise for each request is a cost that shows. */
function readJson(
  request: IncomingMessage,
  { bodyBytes: maxBytes, bodyValues }: Pick<GatewayLimits, 'bodyBytes' | 'bodyValues'>,
  done: (body: unknown) => void,
  fail: (error: unknown) => void,
): void {
  const tooLarge = (): Fault => new Fault('BODY_TOO_LARGE');
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
    fail(tooLarge());
    return;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
    else {
      request.removeAllListeners('data').removeAllListeners('end').resume();
      fail(tooLarge());
    }
  });
  request.on('end', () => {
    const [only] = chunks;
    const all = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
    // A value takes a byte and a comma at least, so most bodies are too short to hold too many.
    if (all.length > 2 * bodyValues && holdsMoreValuesThan(bodyValues, all)) {
      fail(tooManyValues(bodyValues));
      return;
    }
    let body: unknown;
    try {
      body = JSON.parse(all.toString('utf8'));
    } catch {
      fail(new Fault('MALFORMED_JSON'));
      return;
    }
    done(body);
  });
}

function tooManyValues(most: number): Fault {
  const message = `holds more than ${most} values`;
  return new Fault('VALIDATION_FAILED', {
    issues: [{ path: [], message, code: 'too_big', location: 'body' }],
  });
}
