import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import type { ProxiedServer } from './public-proxy.ts';

/** An HTTPS server in place of an api or gateway, whose responses name it. */
export interface NamedServer extends AsyncDisposable {
  readonly name: string;
  /** The requests that arrived, without health checks. */
  readonly requests: readonly IncomingMessage[];
  /** Handles further requests instead of naming the server. Null: as at the beginning. */
  handle: ((request: IncomingMessage, response: ServerResponse) => void) | null;
  isReady: boolean;
  /** Refuses connections from now on. */
  stop(): Promise<void>;
}

export const NAME_HEADER = 'x-served-by';

export async function startNamedServer({ name, port, env }: ProxiedServer): Promise<NamedServer> {
  const [certFile = '', keyFile = ''] = [
    env['MILLRACE_HTTP_TLS_CERT_FILE'],
    env['MILLRACE_HTTP_TLS_KEY_FILE'],
  ];
  const requests: IncomingMessage[] = [];
  const options = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const server = createServer(options, (request, response) => {
    if (request.url === '/readyz') {
      response.writeHead(named.isReady ? 200 : 503).end();
      return;
    }
    requests.push(request);
    if (named.handle !== null) return named.handle(request, response);
    request.resume();
    response.writeHead(200, { [NAME_HEADER]: name, 'content-type': 'application/json' }).end('{}');
  });
  // Also those before or in their TLS handshake, which the server does not close.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const stop = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const named: NamedServer = {
    ...{ name, requests, stop },
    handle: null,
    isReady: true,
    [Symbol.asyncDispose]: stop,
  };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return named;
}
