import type { DeploymentEntry } from '@millrace/core/inference';
import type { Timer } from '@millrace/platform/clock';
import { Pool, type Dispatcher } from 'undici';
import type { UpstreamRequest } from '../../adapters/text/text-adapter.ts';
import { dispatchToMock } from './mock-upstream.ts';

/** Keeps a bounded connection pool per engine address. */

export interface UpstreamTimeouts {
  readonly connectMs: number;
  /** Until the first byte. A response without streaming starts when all of it is generated. */
  readonly responseMs: number;
  /** Between two chunks of a response. */
  readonly silenceMs: number;
}

export interface UpstreamsOptions extends UpstreamTimeouts {
  readonly connectionsPerEngine: number;
  readonly keepAliveMs: number;
  readonly clock: Pick<Timer, 'monotonicMs'>;
}

interface EnginePool {
  readonly pool: Pool;
  readonly basePath: string;
  usedMs: number;
}

/** Addresses of engines change, so pools unused for this time are closed. */
const unusedMs = 600_000;

export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface Upstreams {
  dispatch(deployment: DeploymentEntry, request: UpstreamRequest, handler: Dispatcher.DispatchHandler): void;
  /** Returns a complete response, for engines that need several calls. Rejects above `maxBytes`. */
  call(
    deployment: DeploymentEntry,
    request: {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string | Buffer | null;
    },
    options: { readonly maxBytes: number; readonly signal: AbortSignal },
  ): Promise<UpstreamResponse>;
  /** Closes pools of unused engines. Call periodically. */
  closeUnused(): void;
  size(): number;
  close(): Promise<void>;
}

export function withTraceparent<Request extends Pick<UpstreamRequest, 'headers'>>(
  request: Request,
  traceparent: string | undefined,
): Request {
  if (traceparent === undefined) return request;
  return { ...request, headers: { ...request.headers, traceparent } };
}

export class ResponseTooLarge extends Error {
  constructor() {
    super('The engine response is too large.');
    this.name = 'AnswerTooLarge';
  }
}

export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const places = new Map<string, EnginePool>();

  function poolFor(address: string): EnginePool {
    const found = places.get(address);
    const usedMs = options.clock.monotonicMs();
    if (found !== undefined) {
      found.usedMs = usedMs;
      return found;
    }
    const url = new URL(address);
    const pool = new Pool(url.origin, {
      // No HTTP/2: undici never settles a request if the server dies while it is in flight.
      allowH2: false,
      connections: options.connectionsPerEngine,
      pipelining: 1,
      keepAliveTimeout: options.keepAliveMs,
      headersTimeout: options.responseMs,
      bodyTimeout: options.silenceMs,
      connect: { timeout: options.connectMs },
    });
    const made = { pool, basePath: url.pathname.replace(/(?<!\/)\/+$/, ''), usedMs };
    places.set(address, made);
    return made;
  }

  const headersFor = (
    { apiKey }: DeploymentEntry,
    headers: Readonly<Record<string, string>>,
  ): Record<string, string> =>
    apiKey === null ? { ...headers } : { ...headers, authorization: `Bearer ${apiKey}` };

  return {
    dispatch(deployment, request, handler) {
      if (deployment.engine === 'mock') {
        dispatchToMock(request, handler);
        return;
      }
      const { path, headers, body, closesConnection } = request;
      const { pool, basePath } = poolFor(deployment.address);
      const ownHeaders = headersFor(deployment, headers);
      pool.dispatch(
        { method: 'POST', path: basePath + path, headers: ownHeaders, body, reset: closesConnection },
        handler,
      );
    },

    async call(deployment, { method, path, headers, body }, { maxBytes, signal }) {
      const { pool, basePath } = poolFor(deployment.address);
      const response = await pool.request({
        method,
        path: basePath + path,
        headers: headersFor(deployment, headers),
        body,
        signal,
      });
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const part of response.body as AsyncIterable<Buffer>) {
        bytes += part.length;
        if (bytes > maxBytes) throw new ResponseTooLarge();
        chunks.push(part);
      }
      return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
    },

    closeUnused() {
      const beforeMs = options.clock.monotonicMs() - unusedMs;
      for (const [address, { pool, usedMs }] of places) {
        // `size` counts running and queued requests.
        if (usedMs > beforeMs || pool.stats.size > 0) continue;
        places.delete(address);
        void pool.destroy();
      }
    },

    size: () => places.size,

    async close() {
      await Promise.all([...places.values()].map(({ pool }) => pool.destroy()));
    },
  };
}
