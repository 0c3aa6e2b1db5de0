import type { Operation } from '@millrace/contract';
import type { FastifyRequest } from 'fastify';
import { Fault } from '../fault/index.ts';
import { readBearer } from './bearer.ts';
import type { ServerContext } from './server-context.ts';
import { headerText } from './request-telemetry.ts';
import { stateOf } from './request-state.ts';
import type { SessionUser, Principal, Sessions } from './types.ts';

/** The caller: an API key, a user in an organisation, or a user alone. */
export interface CallerIdentity {
  readonly principal: Principal | null;
  readonly person: SessionUser | null;
}

/** The format of the library's tokens. API keys differ because they contain underscores. */
const sessionToken = /^[A-Za-z0-9]{32}$/;

/** Authenticates a request or throws a Fault. `Authorization` takes precedence over the cookie. */
export async function identifyCaller(
  context: ServerContext,
  operation: Operation,
  request: FastifyRequest,
  sessions = context.sessions,
): Promise<CallerIdentity> {
  const token = sessions === undefined ? null : tokenOf(sessions, operation, request);
  if (sessions !== undefined && token !== null)
    return authenticateSession(sessions, operation, request, token);
  const key = readBearer(headerText(request.headers.authorization));
  const principal = await context.authenticate({ key, clientIp: stateOf(request).clientIp });
  if (operation.auth === 'person') throw new Fault('PERSON_REQUIRED');
  return { principal, person: null };
}

async function authenticateSession(
  sessions: Sessions,
  operation: Operation,
  request: FastifyRequest,
  token: string,
): Promise<CallerIdentity> {
  if (operation.auth === 'person') return { principal: null, person: await sessions.person(token) };
  return sessions.member(token, {
    organisation: headerText(request.headers['millrace-organisation']),
    mode: headerText(request.headers['millrace-mode']),
  });
}

/** The session token; null if the request must be authenticated by an API key. */
function tokenOf(sessions: Sessions, operation: Operation, request: FastifyRequest): string | null {
  const { authorization, cookie } = request.headers;
  if (authorization !== undefined && authorization.trim() !== '') {
    const [, token] = /^bearer +(\S{1,512})$/i.exec(authorization.trim()) ?? [];
    return token !== undefined && sessionToken.test(token) ? token : null;
  }
  const token = sessions.tokenIn(cookie);
  if (token !== null) {
    requireSameOrigin(sessions.origin, request);
    return token;
  }
  // A request that names an organisation comes from a session that has ended, so report the session, not a missing key.
  const wasSignedIn = request.headers['millrace-organisation'] !== undefined;
  if (operation.auth === 'person' || wasSignedIn) throw new Fault('SESSION_ENDED');
  return null;
}

/** Sent by the console with every call. Other sites would need a CORS preflight, which this api never approves. */
const CONSOLE_HEADER = 'millrace-console';

/**
 * A cookie identifies the browser, not the page that sent the request. Headers that no page can set show the sending
 * page. Browsers without fetch metadata send none of them with a GET, so the console's own header is the proof there.
 * Without any of these headers the cookie is refused.
 */
export function requireSameOrigin(origin: string, request: Pick<FastifyRequest, 'headers'>): void {
  const { origin: sentBy } = request.headers;
  const site = headerText(request.headers['sec-fetch-site']);
  if (sentBy !== undefined && sentBy !== origin) throw new Fault('CROSS_SITE_REQUEST');
  if (site !== undefined && site !== 'same-origin') throw new Fault('CROSS_SITE_REQUEST');
  const isFromConsole = request.headers[CONSOLE_HEADER] === '1';
  if (site === undefined && sentBy === undefined && !isFromConsole) throw new Fault('CROSS_SITE_REQUEST');
}
