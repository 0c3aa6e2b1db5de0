import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import {
  checkMonitorToken,
  missingTokenHeaders,
  startMonitorServer,
  type MonitorServer,
} from '../telemetry/monitor-server.ts';
import type { BuildInfo } from '../release/index.ts';
import type { Lifecycle } from './lifecycle.ts';

export interface HealthOptions {
  readonly lifecycle: Lifecycle;
  readonly build: BuildInfo;
  /** The bearer token for details. Null shows them to every caller. */
  readonly token: string | null;
}

interface HealthResponse {
  readonly status: 200 | 401 | 503;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
}

const paths = ['/healthz', '/readyz'] as const;
type HealthPath = (typeof paths)[number];

const noHeaders = { 'cache-control': 'no-store' } as const;

/**
 * `/healthz` says whether to keep the process. It succeeds while the process runs, so that an outage of a dependency
 * never restarts it. `/readyz` says whether to send requests, and which dependency fails. Many load balancers cannot
 * send a token, so a request without it gets the status and no details.
 */
async function buildHealthResponse(
  { lifecycle, build, token }: HealthOptions,
  path: HealthPath,
  authorization: string | undefined,
): Promise<HealthResponse> {
  const access = checkMonitorToken(token, authorization);
  if (access === 'wrong')
    return { status: 401, body: { error: 'wrong token' }, headers: missingTokenHeaders };
  const isDetailed = access === 'right';
  const headers = noHeaders;
  if (path === '/healthz') {
    const live = lifecycle.live();
    const body = isDetailed ? { live, state: lifecycle.state, ...build } : { live };
    return { status: live ? 200 : 503, body, headers };
  }
  const report = await lifecycle.ready();
  const { ready } = report;
  return { status: ready ? 200 : 503, body: isDetailed ? { ...report, ...build } : { ready }, headers };
}

/** Adds the health routes to a server. They need no key and reveal only names and durations. */
export function serveHealth(fastify: FastifyInstance, options: HealthOptions): void {
  for (const url of paths) {
    fastify.route({
      method: ['GET', 'HEAD'],
      url,
      logLevel: 'debug',
      handler: async (request, reply) => {
        const { authorization } = request.headers;
        const { status, body, headers } = await buildHealthResponse(options, url, authorization);
        return reply.code(status).headers(headers).send(body);
      },
    });
  }
}

/** Responds to `/healthz` and `/readyz`; returns false for any other request. */
export type HealthHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

export function createHealthHandler(options: HealthOptions): HealthHandler {
  return (request, response) => {
    const { url = '', method } = request;
    const path = paths.find((known) => url === known || url.startsWith(`${known}?`));
    if (path === undefined || (method !== 'GET' && method !== 'HEAD')) return false;
    buildHealthResponse(options, path, request.headers.authorization).then(
      ({ status, body, headers }) =>
        response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify(body)),
      () => response.writeHead(503).end(),
    );
    return true;
  };
}

/** Starts the health server of a process on a port of its own. */
export function startHealthServer(
  at: { readonly host: string; readonly port: number },
  handle: HealthHandler,
): Promise<MonitorServer> {
  return startMonitorServer(at, handle);
}
