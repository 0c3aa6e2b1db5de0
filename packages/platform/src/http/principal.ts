import type { Actor } from '../envelope/index.ts';
import { Fault } from '../fault/index.ts';
import type { SessionUser, Principal, RequestContext } from './types.ts';

/** The principal of an operation with `auth: 'key'`; the kit has authenticated it before the handler runs. */
export function requirePrincipal(context: Pick<RequestContext, 'principal'>): Principal {
  if (context.principal === null) {
    throw new Fault('INTERNAL', { internal: 'a handler asked for the principal of an anonymous operation' });
  }
  return context.principal;
}

/** The person of an operation with `auth: 'person'`. */
export function requireSessionUser(context: Pick<RequestContext, 'person'>): SessionUser {
  if (context.person === null) {
    throw new Fault('INTERNAL', {
      internal: 'a handler asked for the person of an operation that needs none',
    });
  }
  return context.person;
}

/** How rows record who did this. A seat is no author: the person is. */
export function actorOf(principal: Principal): Actor {
  return principal.kind === 'session'
    ? { kind: 'user', id: principal.userId }
    : { kind: 'key', id: principal.keyId };
}
