import type { Role, Scope } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { OrgId, UserId } from '@millrace/platform/ids';
import { createTenant, createTestDatabase, uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { addMember, issueUnrestrictedKey, setOrganisationStatus } from './organisations/admin.service.ts';
import { createApiKeyService, issueKey, UNREVOKED_KEYS_MAX } from './keys/api-keys.service.ts';
import { unlimitedKeyLimits } from './model/api-keys.store.ts';
import type { CallContext } from './authorize-caller.service.ts';
import { systemAuditContext, type ApiKey } from './model/identity.ts';
import { createMemberService } from './organisations/members.service.ts';
import { ensureUser, setRole } from './model/organisations.store.ts';
import { addSshKey, removeSshKey, requireSshPublicKey } from './ssh/ssh-keys.service.ts';
import { listSshKeys } from './ssh/ssh-keys.store.ts';

/** Requests whose caller changes after authentication and before the transaction: each change must use the current state. */

const cause = systemAuditContext('test', 'live');
const keys = createApiKeyService({ announce: () => undefined });
const members = createMemberService({ announce: () => undefined, keys });
const sshLine =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl someone@example.com';

let orgId: OrgId;
const database = await createTestDatabase();
afterAll(() => database.drop());

function inTransaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
  return database.db.transaction({ name: 'test', isolation: 'read committed' }, work);
}

/** A member with that role and a key with all its scopes, in a new organisation. */
async function callerOf(
  role: Role,
): Promise<CallContext & { readonly key: ApiKey; readonly userId: UserId }> {
  ({ orgId } = await createTenant(database.db));
  const email = `${role}-${uniqueId()}@example.com`;
  const { key } = await inTransaction(async (tx) => {
    await addMember(tx, cause, orgId, { email, role });
    const user = await ensureUser(tx, { email });
    return issueUnrestrictedKey(tx, cause, { orgId, user, mode: 'live', name: 'in flight' });
  });
  return { orgId, keyId: key.id, cause, key, userId: key.userId };
}

const rights = (scopes: readonly Scope[]) =>
  ({ mode: 'live', scopes, limits: unlimitedKeyLimits, allowedIps: [], expiresAt: null }) as const;

type Caller = Awaited<ReturnType<typeof callerOf>>;
const changes: Readonly<Record<string, (tx: Tx, caller: Caller) => Promise<unknown>>> = {
  'create a key': (tx, call) => keys.create(tx, call, { ...rights(['rentals:read']), name: 'escape' }),
  'rotate its own key': (tx, call) => keys.rotate(tx, call, call.keyId, 0),
  'revoke its own key': (tx, call) => keys.revoke(tx, call, call.keyId),
  'rename the organisation': (tx, call) => members.rename(tx, call, 'Taken over'),
  'change a role': (tx, call) => members.changeRole(tx, call, call.userId, 'member'),
  'remove a member': (tx, call) => members.remove(tx, call, call.userId),
  'add an SSH key': (tx, call) => addSshKey(tx, call, { name: 'late', key: requireSshPublicKey(sshLine) }),
};

const overtaken: Readonly<Record<string, { reason: string; happen: (caller: Caller) => Promise<unknown> }>> =
  {
    'its key was revoked': {
      reason: 'API_KEY_REVOKED',
      happen: (caller) => inTransaction((tx) => keys.revoke(tx, caller, caller.keyId)),
    },
    'its user was demoted': {
      reason: 'INSUFFICIENT_SCOPE',
      happen: ({ userId }) => inTransaction((tx) => setRole(tx, orgId, userId, 'billing')),
    },
    'its user was removed': {
      reason: 'API_KEY_REVOKED',
      happen: (caller) => inTransaction((tx) => members.remove(tx, caller, caller.userId)),
    },
    'its organisation was suspended': {
      reason: 'ORGANISATION_SUSPENDED',
      happen: () =>
        inTransaction((tx) =>
          setOrganisationStatus(
            tx,
            { announce: () => undefined, work: { end: async () => 0, callOff: async () => undefined } },
            cause,
            orgId,
            {
              status: 'suspended',
              reason: 'a test',
            },
          ),
        ),
    },
  };

describe('a request in flight', () => {
  const table = Object.keys(overtaken).flatMap((event) =>
    Object.keys(changes).map((change) => [event, change] as const),
  );
  it.each(table)('cannot, after %s, %s', async (event, change) => {
    const caller = await callerOf('owner');
    await overtaken[event]?.happen(caller);
    const attempt = inTransaction(async (tx) => changes[change]?.(tx, caller));
    await expect(attempt).rejects.toMatchObject({ reason: overtaken[event]?.reason });
  });

  it.each(Object.keys(changes))('whose caller is unchanged can %s', async (change) => {
    const caller = await callerOf('owner');
    await inTransaction(async (tx) => changes[change]?.(tx, caller));
  });

  it('cannot remove an SSH key after its user lost the right', async () => {
    const caller = await callerOf('owner');
    const key = requireSshPublicKey(sshLine);
    const { id } = await inTransaction((tx) => addSshKey(tx, caller, { name: 'mine', key }));
    await overtaken['its user was demoted']?.happen(caller);
    await expect(inTransaction((tx) => removeSshKey(tx, caller, id))).rejects.toMatchObject({
      reason: 'INSUFFICIENT_SCOPE',
    });
    const owner = { userId: caller.userId, mode: 'live' } as const;
    expect(await listSshKeys(database.db, orgId, owner, { limit: 5, after: null })).toHaveLength(1);
  });
});

describe('an organisation with the maximum number of keys', () => {
  it('can rotate without overlap, but not with overlap, which would need one more key', async () => {
    const caller = await callerOf('owner');
    const fields = { orgId, userId: caller.userId, name: 'one of many', rights: rights(['rentals:read']) };
    await inTransaction(async (tx) => {
      for (let count = 1; count < UNREVOKED_KEYS_MAX; count++) await issueKey(tx, cause, fields);
    });
    const rotate = (overlapMs: number) =>
      inTransaction((tx) => keys.rotate(tx, caller, caller.keyId, overlapMs));
    await expect(rotate(60_000)).rejects.toMatchObject({ reason: 'API_KEY_LIMIT_REACHED' });
    await expect(rotate(0)).resolves.toMatchObject({ previous: { id: caller.keyId } });
  });
});
