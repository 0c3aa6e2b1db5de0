import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { KEEP_ALIVE_MS } from '@millrace/testing';

/** HTTP proxy that can lose a response: the service receives the whole request, the client gets a truncated response. */

export interface ResponseDroppingProxy extends AsyncDisposable {
  readonly url: string;
  /** Cuts the response to the next request whose path starts with `path`, after `afterBytes` of its body. */
  cutNext(path: string, afterBytes: number): void;
  readonly seen: readonly ProxiedRequest[];
}

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Whether the body of the response has started: a stream that has started misses no later event. */
  hasStarted(): boolean;
}

export async function startResponseDroppingProxy(target: string): Promise<ResponseDroppingProxy> {
  const cuts: { readonly path: string; readonly afterBytes: number }[] = [];
  const seen: ProxiedRequest[] = [];
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, outgoing) => {
    const path = incoming.url ?? '';
    let hasStarted = false;
    seen.push({
      method: incoming.method ?? '',
      path,
      headers: incoming.headers,
      hasStarted: () => hasStarted,
    });
    const at = cuts.findIndex((cut) => path.startsWith(cut.path));
    const [cut] = at === -1 ? [] : cuts.splice(at, 1);
    passOn(new URL(path, target), incoming, outgoing, {
      cutAfter: cut?.afterBytes ?? null,
      onStart: () => (hasStarted = true),
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    cutNext: (path, afterBytes) => void cuts.push({ path, afterBytes }),
    seen,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function passOn(
  to: URL,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { cutAfter, onStart }: { readonly cutAfter: number | null; readonly onStart: () => void },
): void {
  const { method, headers } = incoming;
  const forwarded = request(
    to,
    { method, headers: { ...headers, host: to.host }, agent: false },
    (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.once('data', onStart);
      let left = cutAfter;
      response.on('data', (chunk: Buffer) => {
        if (left === null) {
          outgoing.write(chunk);
          return;
        }
        if (chunk.length < left) {
          left -= chunk.length;
          outgoing.write(chunk);
          return;
        }
        // Flush the partial response to the client before closing the connection.
        outgoing.write(chunk.subarray(0, left), () => outgoing.destroy());
      });
      response.on('end', () => outgoing.end());
      response.on('error', () => outgoing.destroy());
    },
  );
  forwarded.on('error', () => outgoing.destroy());
  outgoing.on('close', () => forwarded.destroy());
  incoming.pipe(forwarded);
}
