import type { Actor } from '../envelope/index.ts';
import { Fault } from '../fault/index.ts';
import type { SessionUser, Principal, RequestContext } from './types.ts';

/** The principal of an operation with `auth: 'key'`, which is authenticated before the handler runs. */
export function requirePrincipal(context: Pick<RequestContext, 'principal'>): Principal {
  if (context.principal === null) {
    throw new Fault('INTERNAL', { internal: 'a handler requires the principal of an anonymous operation' });
  }
  return context.principal;
}

/** The user of an operation with `auth: 'person'`. */
export function requireSessionUser(context: Pick<RequestContext, 'person'>): SessionUser {
  if (context.person === null) {
    throw new Fault('INTERNAL', {
      internal: 'a handler requires the user of an operation without a session',
    });
  }
  return context.person;
}

/** The actor that rows record. For a session it is the user, not the member key. */
export function actorOf(principal: Principal): Actor {
  return principal.kind === 'session'
    ? { kind: 'user', id: principal.userId }
    : { kind: 'key', id: principal.keyId };
}
