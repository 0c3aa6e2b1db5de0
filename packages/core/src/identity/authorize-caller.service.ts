import type { Scope } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { KeyId, OrgId } from '@millrace/platform/ids';
import { effectiveScopes } from './model/key-rights.ts';
import { lockCaller } from './model/api-keys.store.ts';
import type { Caller, AuditContext, Organisation } from './model/identity.ts';
import { findOrganisation, lockOrganisation } from './model/organisations.store.ts';

/** The calling API key or member key, and the audit context of the request. */
export interface CallContext {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly cause: AuditContext;
}

/** The caller as read inside the transaction, with its effective scopes. */
export interface AuthorizedCaller extends Caller {
  readonly scopes: ReadonlySet<Scope>;
  readonly organisation: Organisation;
}

/**
 * Locks the organisation and reads the caller again. Authentication used a cache; a change must use the current state. So a
 * revoked key, a removed or demoted user and a suspended organisation change nothing more.
 */
export async function authorizeCaller(tx: Tx, call: CallContext, scope: Scope): Promise<AuthorizedCaller> {
  return authorizeIn(tx, call, scope, await lockOrganisation(tx, call.orgId));
}

/** The same for terminations, without the organisation lock, which creations can hold for seconds. Safe: it increases no quota. */
export async function authorizeTermination(
  tx: Tx,
  call: CallContext,
  scope: Scope,
): Promise<AuthorizedCaller> {
  return authorizeIn(tx, call, scope, await findOrganisation(tx, call.orgId));
}

async function authorizeIn(
  tx: Tx,
  call: CallContext,
  scope: Scope,
  organisation: Organisation | null,
): Promise<AuthorizedCaller> {
  const caller = await lockCaller(tx, call.orgId, call.keyId);
  if (organisation?.status === 'suspended') throw new Fault('ORGANISATION_SUSPENDED');
  if (organisation === null || caller === null || caller.key.revokedAt !== null) {
    throw new Fault(call.cause.actor.kind === 'user' ? 'NOT_A_MEMBER' : 'API_KEY_REVOKED');
  }
  const { key, role, platformRoles } = caller;
  if (key.expiresAt !== null && key.expiresAt <= tx.clock.now()) throw new Fault('API_KEY_EXPIRED');
  const scopes = effectiveScopes(key, role, platformRoles);
  if (!scopes.has(scope)) throw new Fault('INSUFFICIENT_SCOPE');
  return { ...caller, scopes, organisation };
}
