import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isEqualConstantTime } from '../secrets/index.ts';

export interface MonitorServer {
  /** The bound port. */
  readonly port: number;
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 256;

/** Starts a server for probes and scrapers. `handle` returns false for a request that it does not serve. */
export async function startMonitorServer(
  at: { readonly host: string; readonly port: number },
  handle: (request: IncomingMessage, response: ServerResponse) => boolean,
): Promise<MonitorServer> {
  const limits = { requestTimeout: 10_000, headersTimeout: 5_000, maxHeaderSize: 8_192 };
  const server = createServer(limits, (request, response) => {
    if (!handle(request, response)) response.writeHead(404).end();
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, at);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The monitoring server has no port.');
  server.unref();
  return {
    port: address.port,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

export type TokenCheck = 'right' | 'missing' | 'wrong';

/** Compares the bearer token of a request. Every request is right if no token is configured. */
export function checkMonitorToken(token: string | null, authorization: string | undefined): TokenCheck {
  if (token === null) return 'right';
  if (authorization === undefined) return 'missing';
  const [, sent = ''] = /^bearer +(\S{1,512})$/i.exec(authorization) ?? [];
  return isEqualConstantTime(token, sent) ? 'right' : 'wrong';
}

export const missingTokenHeaders = { 'www-authenticate': 'Bearer', 'cache-control': 'no-store' } as const;
