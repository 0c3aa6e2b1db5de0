import { createServer, type IncomingMessage } from 'node:http';
import { KEEP_ALIVE_MS } from './keep-alive.ts';

/** An HTTP server on loopback that replaces a program which cannot run in tests. */
export interface HttpDouble {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface DoubleRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  /** Parsed JSON; undefined if missing or invalid. */
  readonly body: unknown;
}

export interface DoubleResponse {
  readonly status: number;
  /** JSON, or raw bytes. */
  readonly body: unknown;
}

export async function startHttpDouble(
  respond: (request: DoubleRequest) => DoubleResponse | Promise<DoubleResponse>,
): Promise<HttpDouble> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    void readRequest(request)
      .then(respond)
      .catch((error: unknown) => ({ status: 500, body: { error: String(error) } }))
      .then(({ status, body }) => {
        if (response.destroyed) return;
        const isBytes = body instanceof Uint8Array;
        response.writeHead(status, {
          'content-type': isBytes ? 'application/octet-stream' : 'application/json',
        });
        response.end(isBytes ? body : JSON.stringify(body));
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The double has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readRequest(request: IncomingMessage): Promise<DoubleRequest> {
  const chunks: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) chunks.push(part);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://double');
  return {
    method: request.method ?? 'GET',
    path: pathname,
    query: searchParams,
    headers: request.headers,
    body: parsed(Buffer.concat(chunks).toString('utf8')),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
