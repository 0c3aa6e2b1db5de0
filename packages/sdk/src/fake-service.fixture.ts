import { SimulatedClock } from '@millrace/platform/clock';
import { Millrace } from './client.ts';
import type { ClientOptions } from './options.ts';

/** A service double that responds to each request with the next prepared response. For tests only. */

export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly credentials: string | undefined;
}

/** A response, or a failure. */
export type FakeResponse = (request: RecordedRequest, signal: AbortSignal) => Response | Promise<Response>;

export interface FakeService {
  readonly client: Millrace;
  readonly requests: readonly RecordedRequest[];
  readonly clock: SimulatedClock;
  /** Resolves when all started work waits for something. */
  idle(): Promise<void>;
}

export function fakeService(
  happenings: readonly FakeResponse[],
  options: Partial<ClientOptions> = {},
): FakeService {
  const requests: RecordedRequest[] = [];
  const clock = new SimulatedClock();
  const left = [...happenings];
  const client = new Millrace({
    baseUrl: 'https://api.example.com',
    apiKey: 'mr_test_key',
    clock,
    random: () => 0.5,
    fetch: async (url, init) => {
      const request = recordRequest(url instanceof Request ? url.url : url.toString(), init);
      requests.push(request);
      const next = left.shift();
      if (next === undefined) throw new Error(`unexpected request ${request.method} ${request.url}`);
      return next(request, init?.signal ?? new AbortController().signal);
    },
    ...options,
  });
  return { client, requests, clock, idle: () => new Promise((resolve) => setTimeout(resolve, 5)) };
}

function recordRequest(url: string, init: RequestInit | undefined): RecordedRequest {
  const body = init?.body;
  return {
    method: init?.method ?? 'GET',
    url,
    headers: Object.fromEntries(new Headers(init?.headers)),
    body: typeof body === 'string' ? JSON.parse(body) : null,
    credentials: init?.credentials,
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): FakeResponse {
  return () => Response.json(body, { status, headers });
}

/** A broken connection, as Node's fetch reports it. */
export function connectionReset(code = 'ECONNRESET'): FakeResponse {
  return () =>
    Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) }));
}

/** A stream of text that ends as `ending` says. */
export function streamed(pieces: readonly string[], ending: 'end' | 'cut' | 'silence' = 'end'): FakeResponse {
  return (_request, signal) => {
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(encoder.encode(piece));
        if (ending === 'end') controller.close();
        if (ending === 'silence') signal.addEventListener('abort', () => controller.error(signal.reason));
      },
      pull(controller) {
        if (ending === 'cut') controller.error(new TypeError('terminated'));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
}
