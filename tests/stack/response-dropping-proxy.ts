import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { KEEP_ALIVE_MS } from '@millrace/testing';

/**
 * An HTTP proxy that passes everything on until it is told to cut: then the service gets the whole request and does its work,
 * and the client gets the beginning of the answer and a broken connection.
 */

export interface ResponseDroppingProxy extends AsyncDisposable {
  readonly url: string;
  /** Cuts the answer to the next request to a path that begins so, after that many bytes of its body. */
  cutNext(path: string, afterBytes: number): void;
  /** Method, path and headers of what passed. */
  readonly seen: readonly ProxiedRequest[];
}

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export async function startResponseDroppingProxy(target: string): Promise<ResponseDroppingProxy> {
  const cuts: { readonly path: string; readonly afterBytes: number }[] = [];
  const seen: ProxiedRequest[] = [];
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, outgoing) => {
    const path = incoming.url ?? '';
    seen.push({ method: incoming.method ?? '', path, headers: incoming.headers });
    const at = cuts.findIndex((cut) => path.startsWith(cut.path));
    const [cut] = at === -1 ? [] : cuts.splice(at, 1);
    passOn(new URL(path, target), incoming, outgoing, cut?.afterBytes ?? null);
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

function passOn(to: URL, incoming: IncomingMessage, outgoing: ServerResponse, cutAfter: number | null): void {
  const { method, headers } = incoming;
  const forwarded = request(
    to,
    { method, headers: { ...headers, host: to.host }, agent: false },
    (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
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
        // The client must have had its part before the connection is gone.
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
