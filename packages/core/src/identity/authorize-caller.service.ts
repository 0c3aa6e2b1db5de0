import type { Scope } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { KeyId, OrgId } from '@millrace/platform/ids';
import { effectiveScopes } from './model/key-rights.ts';
import { lockCaller } from './model/api-keys.store.ts';
import type { Caller, AuditContext, Organisation } from './model/identity.ts';
import { findOrganisation, lockOrganisation } from './model/organisations.store.ts';

/** The calling key, or the seat of the person who calls, and what of the request is worth recording. */
export interface CallContext {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly cause: AuditContext;
}

/** The caller as it stands inside the transaction, with what it may do now. */
export interface AuthorizedCaller extends Caller {
  readonly scopes: ReadonlySet<Scope>;
  readonly organisation: Organisation;
}

/**
 * Takes its turn in the organisation and reads the caller again. A request is let in on what a cache knew; it changes
 * something only on what is true now. So a key that was revoked or has expired, a person who left or was demoted, and
 * an organisation that was suspended in between change nothing more.
 */
export async function authorizeCaller(tx: Tx, call: CallContext, scope: Scope): Promise<AuthorizedCaller> {
  return authorizeIn(tx, call, scope, await lockOrganisation(tx, call.orgId));
}

/**
 * The same for terminations. Does not lock the organisation, because creations can hold that lock for seconds. Safe, because a
 * termination increases no counted quota.
 */
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
