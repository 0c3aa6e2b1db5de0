import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Lifecycle } from '@millrace/platform/lifecycle';

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };

/**
 * `/healthz` answers while the process is worth keeping, `/readyz` while it does its work. On loopback only: what a
 * process depends on, and how it fares, is nobody else's business.
 */
export async function serveHealth(lifecycle: Lifecycle, port: number): Promise<HealthServer> {
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 8_192 }, (request, response) => {
    const answer = (ok: boolean, body: unknown): void => {
      response.writeHead(ok ? 200 : 503, HEADERS).end(JSON.stringify(body));
    };
    if (request.method === 'GET' && request.url === '/healthz') {
      answer(lifecycle.live(), { state: lifecycle.state });
    } else if (request.method === 'GET' && request.url === '/readyz') {
      lifecycle.ready().then(
        (report) => answer(report.ready, report),
        () => answer(false, { ready: false }),
      );
    } else {
      response.writeHead(404).end();
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The health server has no port.');
  return {
    port: address.port,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
