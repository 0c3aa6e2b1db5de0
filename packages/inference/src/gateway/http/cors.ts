import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Which pages may call a gateway. A browser hands an answer only to a page whose origin the answer names, and asks before it
 * sends a key along: pages of the console get that leave, and no others. Cookies are never part of it: a gateway knows keys
 * alone, and without leave for credentials no browser sends any.
 */
export interface Cors {
  /** Gives the page leave to read the answer, if it has that. Tells whether the request did nothing but ask for leave. */
  apply(request: IncomingMessage, response: ServerResponse): boolean;
}

/** What a page may read of an answer beside its body. */
const exposedHeaders = [
  'Inference-Id',
  'X-Inference-Request-Id',
  'X-Ignored-Fields',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit-Requests',
  'X-RateLimit-Remaining-Requests',
  'X-RateLimit-Reset-Requests',
].join(', ');

/** Browsers keep a leave no longer than two hours; an origin that is taken off the list is out after ten minutes. */
const preflightMaxAgeSeconds = '600';

/** `origins` as browsers write them: `https://console.example.com`. None: no page may. */
export function createCors(origins: readonly string[]): Cors {
  const allowed = new Set(origins);
  return {
    apply(request, response) {
      const { origin } = request.headers;
      if (origin === undefined || !allowed.has(origin)) return false;
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('vary', 'Origin');
      const isPreflight =
        request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
      if (isPreflight) {
        response.setHeader('access-control-allow-methods', 'GET, POST');
        response.setHeader('access-control-allow-headers', 'Authorization, Content-Type');
        response.setHeader('access-control-max-age', preflightMaxAgeSeconds);
      } else {
        response.setHeader('access-control-expose-headers', exposedHeaders);
      }
      return isPreflight;
    },
  };
}
