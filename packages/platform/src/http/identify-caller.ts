import type { Operation } from '@millrace/contract';
import type { FastifyRequest } from 'fastify';
import { Fault } from '../fault/index.ts';
import { readBearer } from './bearer.ts';
import type { ServerContext } from './server-context.ts';
import { headerText } from './request-telemetry.ts';
import { stateOf } from './request-state.ts';
import type { SessionUser, Principal, Sessions } from './types.ts';

/** Who is calling: a key, a person in an organisation, or a person alone. */
export interface CallerIdentity {
  readonly principal: Principal | null;
  readonly person: SessionUser | null;
}

/** What the sign-in library makes. No key looks like this: keys have underscores. */
const sessionToken = /^[A-Za-z0-9]{32}$/;

/**
 * Turns what a request carries into who is calling, or throws a Fault. A key or token in `Authorization` goes before the
 * cookie, which a browser sends along unasked.
 */
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

/** The token of a session; null when the request is to be judged by its key, or by the lack of one. */
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
  // Whoever names an organisation was signed in: what is missing is the session, not a key.
  const wasSignedIn = request.headers['millrace-organisation'] !== undefined;
  if (operation.auth === 'person' || wasSignedIn) throw new Fault('SESSION_ENDED');
  return null;
}

/**
 * The console sends this header with every call. A page of another site can send it only after a CORS preflight, and this api
 * approves none.
 */
const CONSOLE_HEADER = 'millrace-console';

/**
 * A cookie proves who the browser belongs to, not who wrote the request. That a page of ours did is what the browser says
 * in headers that no page can set. Browsers without fetch metadata send neither of them with a GET: there the console's own
 * header is the proof. Without any of these the cookie counts for nothing.
 */
export function requireSameOrigin(origin: string, request: Pick<FastifyRequest, 'headers'>): void {
  const { origin: sentBy } = request.headers;
  const site = headerText(request.headers['sec-fetch-site']);
  if (sentBy !== undefined && sentBy !== origin) throw new Fault('CROSS_SITE_REQUEST');
  if (site !== undefined && site !== 'same-origin') throw new Fault('CROSS_SITE_REQUEST');
  const isFromConsole = request.headers[CONSOLE_HEADER] === '1';
  if (site === undefined && sentBy === undefined && !isFromConsole) throw new Fault('CROSS_SITE_REQUEST');
}
