import type { Actor } from '../envelope/index.ts';
import { Fault } from '../fault/index.ts';
import type { Principal, RequestContext } from './types.ts';

/** The principal of an operation that needs a key; the kit has authenticated it before the handler runs. */
export function requirePrincipal(context: Pick<RequestContext, 'principal'>): Principal {
  if (context.principal === null) {
    throw new Fault('INTERNAL', { internal: 'a handler asked for the principal of an anonymous operation' });
  }
  return context.principal;
}

/** How rows record who did this. */
export function actorOf(principal: Principal): Actor {
  return { kind: 'key', id: principal.keyId };
}
