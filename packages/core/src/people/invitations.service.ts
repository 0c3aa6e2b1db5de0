import { roles, type Role } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { InvitationId, OrgId, UserId } from '@millrace/platform/ids';
import {
  appendAuditEntry,
  authorizeCaller,
  findMembership,
  insertMember,
  isMemberByEmail,
  lockOrganisation,
  lockPerson,
  mayChangeRole,
  type AuditContext,
  type CallContext,
  type PersonRecord,
} from '../identity/index.ts';
import { cancelEmails, countExternalEmails, isUnsubscribed, insertExternalEmail } from '../notices/index.ts';
import { requirePersonRecord, requireMembership, requireVerifiedEmail } from './organisations.service.ts';
import {
  daysBefore,
  INVITATION_EMAILS_PER_DAY,
  INVITATION_TTL_MS,
  INVITATIONS_PER_DAY,
  isInvitationOpen,
  PENDING_INVITATIONS_MAX,
  type Invitation,
  type Membership,
} from './people.ts';
import {
  setInvitationStatus,
  countInvitations,
  findInvitation,
  findPendingInvitation,
  insertInvitation,
  renewInvitation,
  setInvitationNotice,
} from './people.store.ts';

/** Creates and answers invitations. All changes of invitations lock the row of their organisation. */

/** Links in the invitation email; null if the installation has no console URL. */
interface InvitationLinks {
  readonly link: string | null;
  readonly refuseLink: string | null;
}

export async function inviteMember(
  tx: Tx,
  call: CallContext,
  request: { readonly email: string; readonly role: Role } & InvitationLinks,
): Promise<Invitation> {
  const { orgId, cause } = call;
  const caller = await authorizeCaller(tx, call, 'members:write');
  if (!mayChangeRole(caller, null, request.role)) {
    throw new Fault('SCOPE_ESCALATION', {
      message: 'You cannot offer a role with more rights than you have.',
      suggestion: 'Ask an owner, or use a key that has all scopes of that role.',
    });
  }
  if (await isMemberByEmail(tx, orgId, request.email)) throw new Fault('MEMBER_EXISTS');
  const terms = {
    role: request.role,
    inviterId: caller.key.userId,
    expiresAt: new Date(tx.clock.nowMs() + INVITATION_TTL_MS),
  };
  const before = await findPendingInvitation(tx, orgId, request.email);
  if (before === null || !isInvitationOpen(before, tx.clock.now())) await requireInvitationQuota(tx, orgId);
  if (before !== null) await renewInvitation(tx, orgId, before.id, terms);
  const id = before?.id ?? (await insertInvitation(tx, orgId, request.email, terms));
  const invitation = await requireInvitation(tx, id, orgId);
  await appendAuditEntry(tx, orgId, cause, {
    action: before === null ? 'invitation.created' : 'invitation.renewed',
    resource: { kind: 'invitation', id },
    ...(before === null ? {} : { before: { role: before.role } }),
    after: { email: request.email, role: request.role, expiresAt: terms.expiresAt.toISOString() },
  });
  await queueInvitationEmail(tx, invitation, request);
  return invitation;
}

export async function cancelInvitation(tx: Tx, call: CallContext, id: InvitationId): Promise<void> {
  const { orgId, cause } = call;
  await authorizeCaller(tx, call, 'members:write');
  const invitation = await findInvitation(tx, id, { orgId });
  if (invitation?.status !== 'pending') throw new Fault('INVITATION_NOT_FOUND');
  await closeInvitation(tx, cause, invitation, 'canceled');
}

/** How a user proves that an invitation is for them: by a verified email address, or by the secret of the invitation's link. */
export type EmailProof = 'mail' | ((invitation: Invitation) => boolean);

/**
 * Idempotent, also for concurrent requests. The inviter must still have the right to grant the role: an invitation ends with the
 * inviter's membership or role.
 */
export async function acceptInvitation(
  tx: Tx,
  cause: AuditContext,
  userId: UserId,
  id: InvitationId,
  proof: EmailProof,
): Promise<Membership> {
  const invitee = await lockInvitee(tx, userId, proof);
  const { invitation, isSuspended } = await lockInvitationForInvitee(tx, invitee, id);
  const { orgId, role, inviter } = invitation;
  if (invitation.status === 'accepted' && (await findMembership(tx, orgId, userId)) !== null)
    return requireMembership(tx, orgId, userId);
  if (!isInvitationOpen(invitation, tx.clock.now())) throw new Fault('INVITATION_NOT_FOUND');
  requireProof(proof, invitation);
  if (isSuspended) throw new Fault('ORGANISATION_SUSPENDED');
  const sponsor = await findMembership(tx, orgId, inviter.id);
  const held = sponsor === null ? null : sponsor.member.role;
  if (held === null || !mayChangeRole({ role: held, scopes: new Set(roles[held]) }, null, role))
    throw new Fault('INVITATION_NOT_VALID');
  const user = { id: userId, name: invitee.name, email: invitee.email, image: null };
  const member = await insertMember(tx, orgId, { user, role });
  await closeInvitation(tx, cause, invitation, 'accepted');
  // A member whom an operator has added meanwhile keeps the existing role.
  if (member !== null) {
    await appendAuditEntry(tx, orgId, cause, {
      action: 'member.added',
      resource: { kind: 'member', id: member.id },
      after: { userId, email: invitation.email, role, invitationId: id },
    });
  }
  return requireMembership(tx, orgId, userId);
}

export async function declineInvitation(
  tx: Tx,
  cause: AuditContext,
  userId: UserId,
  id: InvitationId,
  proof: EmailProof,
): Promise<void> {
  const invitee = await lockInvitee(tx, userId, proof);
  const { invitation } = await lockInvitationForInvitee(tx, invitee, id);
  if (!isInvitationOpen(invitation, tx.clock.now())) throw new Fault('INVITATION_NOT_FOUND');
  requireProof(proof, invitation);
  await closeInvitation(tx, cause, invitation, 'rejected');
}

/** Locks the user, so that a user who is being deleted does not become a member. */
async function lockInvitee(tx: Tx, userId: UserId, proof: EmailProof): Promise<PersonRecord> {
  const person = await lockPerson(tx, userId);
  return proof === 'mail' ? requireVerifiedEmail(person) : requirePersonRecord(person);
}

function requireProof(proof: EmailProof, invitation: Invitation): void {
  if (proof !== 'mail' && !proof(invitation)) throw new Fault('INVITATION_LINK_REQUIRED');
}

/** Finds the organisation, locks it and reads the invitation again, which may be answered by now. */
async function lockInvitationForInvitee(
  tx: Tx,
  { email }: PersonRecord,
  id: InvitationId,
): Promise<{ readonly invitation: Invitation; readonly isSuspended: boolean }> {
  const seen = await findInvitation(tx, id, { email });
  if (seen === null) throw new Fault('INVITATION_NOT_FOUND');
  const organisation = await lockOrganisation(tx, seen.orgId);
  const invitation = await findInvitation(tx, id, { email });
  if (invitation === null || organisation === null) throw new Fault('INVITATION_NOT_FOUND');
  return { invitation, isSuspended: organisation.status === 'suspended' };
}

async function requireInvitation(tx: Tx, id: InvitationId, orgId: OrgId): Promise<Invitation> {
  const invitation = await findInvitation(tx, id, { orgId });
  if (invitation === null) throw new Fault('INVITATION_NOT_FOUND');
  return invitation;
}

async function requireInvitationQuota(tx: Tx, orgId: OrgId): Promise<void> {
  const now = tx.clock.now();
  const { open, recent } = await countInvitations(tx, orgId, {
    now,
    since: daysBefore(now, 1),
    lastsMs: INVITATION_TTL_MS,
  });
  if (open >= PENDING_INVITATIONS_MAX || recent >= INVITATIONS_PER_DAY)
    throw new Fault('INVITATION_LIMIT_REACHED');
}

const auditActions = {
  accepted: 'invitation.accepted',
  rejected: 'invitation.declined',
  canceled: 'invitation.canceled',
} as const;

async function closeInvitation(
  tx: Tx,
  cause: AuditContext,
  { id, orgId, email, role }: Invitation,
  status: keyof typeof auditActions,
): Promise<void> {
  if (!(await setInvitationStatus(tx, orgId, id, status))) throw new Fault('INVITATION_NOT_FOUND');
  const noticeId = await setInvitationNotice(tx, orgId, id, null);
  if (noticeId !== null) await cancelEmails(tx, orgId, noticeId, 'The invitation was answered or withdrawn.');
  await appendAuditEntry(tx, orgId, cause, {
    action: auditActions[status],
    resource: { kind: 'invitation', id },
    after: { email, role },
  });
}

/** The email is a row of this transaction, which workers send: it survives crashes, and none is sent after a rollback. */
async function queueInvitationEmail(
  tx: Tx,
  invitation: Invitation,
  { link, refuseLink }: InvitationLinks,
): Promise<void> {
  const { id, orgId, email, role, inviter, orgName, expiresAt } = invitation;
  const sent = await countExternalEmails(tx, email, daysBefore(tx.clock.now(), 1));
  if (sent >= INVITATION_EMAILS_PER_DAY || (await isUnsubscribed(tx, email))) return;
  const noticeId = await insertExternalEmail(tx, orgId, {
    type: 'member.invited',
    email,
    data: {
      invitationId: id,
      organisation: orgName,
      role,
      inviter: inviter.email,
      expiresAt: expiresAt.toISOString(),
      link,
      refuseLink,
    },
  });
  const before = await setInvitationNotice(tx, orgId, id, noticeId);
  if (before !== null) await cancelEmails(tx, orgId, before, 'A newer email replaces it.');
}
