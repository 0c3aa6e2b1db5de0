import type { IncomingMessage, ServerResponse } from 'node:http';

/** CORS for pages of the console. Credentials are never allowed, so that browsers send no cookies: gateways accept only keys. */
export interface Cors {
  /** Sets the headers of allowed origins. Returns true for a preflight request, which then needs no further handling. */
  apply(request: IncomingMessage, response: ServerResponse): boolean;
}

/** Response headers that a page may read. */
const exposedHeaders = [
  'Inference-Id',
  'X-Inference-Request-Id',
  'X-Ignored-Fields',
  'X-Millrace-Demo',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit-Requests',
  'X-RateLimit-Remaining-Requests',
  'X-RateLimit-Reset-Requests',
].join(', ');

/** Browsers cap this at two hours. A removed origin loses access after ten minutes. */
const preflightMaxAgeSeconds = '600';

/** `origins` in browser notation (`https://console.example.com`). Empty: no page has access. */
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
