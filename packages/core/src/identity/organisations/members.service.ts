import type { Role } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { OrgId, UserId } from '@millrace/platform/ids';
import { mayChangeRole } from '../model/key-rights.ts';
import type { ApiKeyService } from '../keys/api-keys.service.ts';
import { markRevokedOfUser } from '../model/api-keys.store.ts';
import { appendAuditEntry } from '../model/audit.store.ts';
import { authorizeCaller, type CallContext } from '../authorize-caller.service.ts';
import type { Member, Organisation } from '../model/identity.ts';
import type { PublishKeyChange } from '../keys/key-changes.ts';
import {
  countOwners,
  deleteMember,
  findMember,
  renameOrganisation,
  setRole,
} from '../model/organisations.store.ts';

/** Use cases of an organisation and its members, for its own members. */
export interface MemberService {
  rename(tx: Tx, call: CallContext, name: string | undefined): Promise<Organisation>;
  changeRole(tx: Tx, call: CallContext, userId: UserId, role: Role): Promise<Member>;
  /** Also revokes the user's keys in this organisation. */
  remove(tx: Tx, call: CallContext, userId: UserId): Promise<void>;
}

export function createMemberService(deps: {
  readonly announce: PublishKeyChange;
  readonly keys: Pick<ApiKeyService, 'recordRevoked'>;
}): MemberService {
  return {
    async rename(tx, call, name) {
      const { organisation: before } = await authorizeCaller(tx, call, 'organisation:write');
      if (name === undefined || name === before.name) return before;
      const after = await renameOrganisation(tx, call.orgId, name);
      await appendAuditEntry(tx, call.orgId, call.cause, {
        action: 'organisation.updated',
        resource: { kind: 'organisation', id: call.orgId },
        before: { name: before.name },
        after: { name: after.name },
      });
      return after;
    },

    async changeRole(tx, call, userId, role) {
      const member = await lockMemberToChange(tx, call, userId, role);
      if (member.role === role) return member;
      if (member.role === 'owner') await requireAnotherOwner(tx, call.orgId);
      await setRole(tx, call.orgId, userId, role);
      await appendAuditEntry(tx, call.orgId, call.cause, {
        action: 'member.updated',
        resource: { kind: 'member', id: member.id },
        before: { role: member.role },
        after: { role },
      });
      // The rights of the user's keys change with the role.
      tx.afterCommit(() => deps.announce({ kind: 'organisation', orgId: call.orgId }));
      return { ...member, role };
    },

    async remove(tx, call, userId) {
      const member = await lockMemberToChange(tx, call, userId, null);
      if (member.role === 'owner') await requireAnotherOwner(tx, call.orgId);
      await deleteMember(tx, call.orgId, userId);
      const how = { at: tx.clock.now(), reason: 'member_removed' } as const;
      const revoked = await markRevokedOfUser(tx, call.orgId, userId, how);
      await appendAuditEntry(tx, call.orgId, call.cause, {
        action: 'member.removed',
        resource: { kind: 'member', id: member.id },
        before: { userId, role: member.role, email: member.user.email },
      });
      await deps.keys.recordRevoked(tx, call.cause, revoked);
      // Access by sessions ends with the membership too.
      tx.afterCommit(() => deps.announce({ kind: 'organisation', orgId: call.orgId }));
    },
  };
}

/** Locks the organisation first, so that two members who demote each other at once run one after the other. */
async function lockMemberToChange(tx: Tx, call: CallContext, userId: UserId, to: Role | null) {
  const caller = await authorizeCaller(tx, call, 'members:write');
  const member = await findMember(tx, call.orgId, userId);
  if (member === null) throw new Fault('MEMBER_NOT_FOUND');
  if (!mayChangeRole(caller, member.role, to)) {
    throw new Fault('SCOPE_ESCALATION', {
      message: 'You cannot grant or remove a role with more rights than you have.',
      suggestion: 'Ask an owner, or use a key that has all scopes of that role.',
    });
  }
  return member;
}

async function requireAnotherOwner(tx: Tx, orgId: OrgId): Promise<void> {
  if ((await countOwners(tx, orgId)) <= 1) throw new Fault('LAST_OWNER');
}
