import { contract } from '@millrace/contract';
import { systemClock } from '@millrace/platform/clock';
import { createHttpServer, type HttpServer, type HttpServerOptions } from '@millrace/platform/http';
import type { Limiter } from '@millrace/platform/limiter';
import { testLog } from '../messaging/engines.ts';
import { testIds } from '../rows/builders.ts';

/** Admits every request, because rate limits have separate tests. */
const unlimited: Limiter = {
  consume: async () => ({ allowed: true, degraded: false, policies: [], refusedBy: null }),
  peek: async () => ({ allowed: true, degraded: false, policies: [], refusedBy: null }),
};

/** An HTTP server in the test's process, for the routes of a feature. */
export function createRouteServer(
  options: Partial<HttpServerOptions> & Pick<HttpServerOptions, 'authenticate'>,
): HttpServer {
  return createHttpServer({
    contract,
    limiter: unlimited,
    log: testLog('routes'),
    clock: systemClock,
    ids: testIds,
    trustedProxies: [],
    validateResponses: true,
    ...options,
  });
}

export interface CallRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CallResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  readonly text: string;
  /** The parsed body. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads fields of an answer it then asserts on
  readonly json: any;
}

export async function callServer({ fastify }: HttpServer, request: CallRequest): Promise<CallResponse> {
  const { method, path: url, key, body, headers } = request;
  const response = await fastify.inject({
    method,
    url,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  const text = response.body;
  const isJson = String(response.headers['content-type']).startsWith('application/json');
  const json: unknown = text === '' || !isJson ? undefined : JSON.parse(text);
  return { status: response.statusCode, headers: response.headers, text, json };
}
