import { createServer } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Lifecycle } from './lifecycle.ts';

interface HealthResponse {
  readonly status: 200 | 503;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * `/healthz` says whether to keep the process. It succeeds while the process runs, so that an outage of a dependency
 * never restarts it. `/readyz` says whether to send requests, and which dependency fails.
 */
async function buildHealthResponse(
  lifecycle: Lifecycle,
  path: '/healthz' | '/readyz',
): Promise<HealthResponse> {
  if (path === '/healthz') {
    const live = lifecycle.live();
    return { status: live ? 200 : 503, body: { live, state: lifecycle.state } };
  }
  const report = await lifecycle.ready();
  return { status: report.ready ? 200 : 503, body: { ...report } };
}

const paths = ['/healthz', '/readyz'] as const;

/** Adds the health routes to a server. They need no key and reveal only names and durations. */
export function serveHealth(fastify: FastifyInstance, lifecycle: Lifecycle): void {
  for (const path of paths) {
    fastify.get(path, { logLevel: 'debug' }, async (_request, reply) => {
      const { status, body } = await buildHealthResponse(lifecycle, path);
      return reply.code(status).send(body);
    });
  }
}

/** Starts a loopback health server for a process without an HTTP server. Resolves with the bound port. */
export async function startHealthServer(options: {
  readonly lifecycle: Lifecycle;
  readonly port: number;
}): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 8_192 }, (request, response) => {
    const path = paths.find((known) => known === request.url);
    if (path === undefined || request.method !== 'GET') {
      response.writeHead(404).end();
      return;
    }
    buildHealthResponse(options.lifecycle, path).then(
      ({ status, body }) =>
        response
          .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
          .end(JSON.stringify(body)),
      () => response.writeHead(503).end(),
    );
  });
  const { promise: bound, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(options.port, '127.0.0.1', resolve);
  await bound;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The health server has no port.');
  return {
    port: address.port,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
