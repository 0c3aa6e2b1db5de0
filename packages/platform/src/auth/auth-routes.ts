import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '../fault/index.ts';
import { requireSameOrigin, type HttpServer } from '../http/index.ts';
import type { RefundingLimiter } from '../limiter/index.ts';
import type { AuthSecrets } from './auth-secrets.ts';
import type { KnownBrowsers } from './known-browser.ts';
import { countAttempt, hashEmail } from './attempt-limits.ts';
import { CLIENT_IP_HEADER } from './better-auth-options.ts';
import { findAuthPath, type AuthPath } from './paths.ts';

const BODY_BYTES = 65_536;
const prefix = '/auth';

export interface AuthRoutesOptions {
  readonly server: HttpServer;
  readonly limiter: RefundingLimiter;
  readonly origin: string;
  readonly addressTries: number;
  readonly secrets: AuthSecrets;
  readonly browsers: KnownBrowsers;
  readonly handle: (request: Request) => Promise<Response>;
}

/** Serves the library at `/auth/*` behind our own checks. Paths that `paths.ts` does not list are 404. */
export function serveAuthRoutes(options: AuthRoutesOptions): void {
  const { server } = options;
  void server.fastify.register(async (scope) => {
    readJsonBodies(server, scope);
    scope.route({
      method: ['GET', 'POST'],
      url: `${prefix}/*`,
      onRequest: async (request, reply) => {
        await server.admitAnonymous(request, reply);
        const path = pathOf(request);
        if (path === null) throw new Fault('ROUTE_NOT_FOUND');
        requireConsoleOrigin(options.origin, request, path);
      },
      handler: async (request, reply) => {
        const path = pathOf(request);
        if (path === null) throw new Fault('ROUTE_NOT_FOUND');
        await handleAuthRequest(options, path, request, reply);
        return reply;
      },
    });
  });
}

function pathOf(request: FastifyRequest): AuthPath | null {
  const [path = ''] = request.url.split('?', 1);
  return findAuthPath(request.method, path.slice(prefix.length));
}

/** Refuses requests from pages of other sites: a form there could sign the visitor in to another account. */
function requireConsoleOrigin(origin: string, request: FastifyRequest, path: AuthPath): void {
  if (path.isLanding === true) return;
  const { cookie, origin: sentBy } = request.headers;
  if (cookie === undefined && sentBy === undefined && request.headers['sec-fetch-site'] === undefined) return;
  requireSameOrigin(origin, request);
}

async function handleAuthRequest(
  { server, limiter, origin, addressTries, secrets, browsers, handle }: AuthRoutesOptions,
  path: AuthPath,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const clientIp = server.clientIpOf(request);
  const emailHash = emailHashIn(request.body);
  const browser = emailHash === null ? null : browsers.idIn(request.headers.cookie, emailHash);
  const attempt = await countAttempt(limiter, path, { clientIp, emailHash, browser, addressTries });
  const response = await handle(toRequest(origin, request, { clientIp, secrets }));
  if (response.status < 400) {
    await attempt.giveBack();
    if (path.counted === 'password' && emailHash !== null && browser === null)
      reply.header('set-cookie', browsers.introduce(emailHash));
  }
  const body = withoutSessionToken(await response.text(), response, path);
  for (const [name, value] of response.headers) {
    if (name !== 'set-cookie' && name !== 'content-length') reply.header(name, value);
  }
  for (const cookie of response.headers.getSetCookie()) reply.header('set-cookie', cookie);
  reply.header('cache-control', 'no-store');
  await reply.code(response.status).send(body);
}

/** Removes the session token, so that no script of a page can read it. Browsers have it in the cookie. */
function withoutSessionToken(text: string, response: Response, path: AuthPath): string {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (path.answersToken === true || !isJson || text === '') return text;
  const body: unknown = JSON.parse(text);
  if (typeof body !== 'object' || body === null) return text;
  if (Array.isArray(body)) return text;
  const { token: _token, ...rest } = body as Record<string, unknown>;
  if (typeof rest['session'] !== 'object' || rest['session'] === null) return JSON.stringify(rest);
  const { token: _sessionToken, ...session } = rest['session'] as Record<string, unknown>;
  return JSON.stringify({ ...rest, session });
}

/** The headers that the library needs. Others could mislead it about the origin of the request. */
const forwarded = ['accept', 'origin', 'referer', 'user-agent', 'sec-fetch-site', 'sec-fetch-mode'];
const USER_AGENT_MAX = 300;

function toRequest(
  origin: string,
  request: FastifyRequest,
  { clientIp, secrets }: { readonly clientIp: string; readonly secrets: AuthSecrets },
): Request {
  const headers = new Headers({ [CLIENT_IP_HEADER]: clientIp });
  for (const name of forwarded) {
    const value = request.headers[name];
    if (typeof value === 'string')
      headers.set(name, value.slice(0, name === 'user-agent' ? USER_AGENT_MAX : undefined));
  }
  const { cookie } = request.headers;
  if (cookie !== undefined) headers.set('cookie', secrets.resignCookies(cookie));
  if (request.method === 'GET')
    return new Request(secrets.resignLink(new URL(`${origin}${request.url}`)), { headers });
  headers.set('content-type', 'application/json');
  const body = JSON.stringify(request.body ?? {});
  return new Request(`${origin}${request.url}`, { method: request.method, headers, body });
}

function emailHashIn(body: unknown): string | null {
  const email = typeof body === 'object' && body !== null && 'email' in body ? body.email : null;
  return typeof email === 'string' ? hashEmail(email) : null;
}

function readJsonBodies(server: HttpServer, scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const parseJson = scope.getDefaultJsonParser('error', 'error');
  scope.addContentTypeParser('application/json', (request, payload, done) => {
    const parse = (text: string): void => {
      if (text.trim() === '') return done(null, undefined);
      return void parseJson(request, text, (error, value) => {
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
        if (error !== null || !isObject) done(new Fault('MALFORMED_JSON'));
        else done(null, value);
      });
    };
    server.readText(request, payload, {
      maxBytes: BODY_BYTES,
      done: parse,
      fail: (error) => done(error as Error),
    });
  });
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(new Fault('UNSUPPORTED_MEDIA_TYPE'));
  });
}
