import type { Role } from '@millrace/contract';
import type { Reader, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import type { InvitationId, NoticeId, OrgId, UserId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { organisationName, organisationStatus, userEmail, userName } from '../identity/index.ts';
import type { Invitation, InvitationStatus } from './people.ts';

interface PageRequest<Position> {
  readonly limit: number;
  readonly after: Position | null;
}

interface InvitationRow {
  id: string;
  org_id: string;
  org_name: string;
  email: string;
  role: Role;
  status: InvitationStatus;
  inviter_id: string;
  inviter_name: string;
  inviter_email: string;
  created_at: Date;
  expires_at: Date;
}

function toInvitation(row: InvitationRow): Invitation {
  return {
    id: fromUuid('inv', row.id),
    orgId: fromUuid('org', row.org_id),
    orgName: row.org_name,
    email: row.email,
    role: row.role,
    status: row.status,
    inviter: { id: fromUuid('usr', row.inviter_id), name: row.inviter_name, email: row.inviter_email },
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

function invitationsQuery(reader: Reader) {
  return reader.kysely
    .selectFrom('invitations')
    .select([
      'invitations.id',
      'invitations.org_id',
      organisationName('invitations.org_id').as('org_name'),
      'invitations.email',
      'invitations.role',
      'invitations.status',
      'invitations.inviter_id',
      userName('invitations.inviter_id').as('inviter_name'),
      userEmail('invitations.inviter_id').as('inviter_email'),
      'invitations.created_at',
      'invitations.expires_at',
    ]);
}

/** Unanswered invitations of an organisation, including expired ones; newest first. */
export async function listUnansweredInvitations(
  reader: Reader,
  orgId: OrgId,
  page: PageRequest<InvitationId>,
): Promise<readonly Invitation[]> {
  let query = invitationsQuery(reader)
    .where('invitations.org_id', '=', toUuid(orgId))
    .where('invitations.status', '=', 'pending')
    .orderBy('invitations.id', 'desc')
    .limit(page.limit + 1);
  if (page.after !== null) query = query.where('invitations.id', '<', toUuid(page.after));
  return (await query.execute()).map(toInvitation);
}

/** Invitations that this address can accept now; newest first. Suspended organisations are left out. */
export async function listOpenInvitations(
  reader: Reader,
  email: string,
  now: Date,
  page: PageRequest<InvitationId>,
): Promise<readonly Invitation[]> {
  let query = invitationsQuery(reader)
    .where('invitations.email', '=', email)
    .where('invitations.status', '=', 'pending')
    .where('invitations.expires_at', '>', now)
    .where(organisationStatus('invitations.org_id'), '=', 'active')
    .orderBy('invitations.id', 'desc')
    .limit(page.limit + 1);
  if (page.after !== null) query = query.where('invitations.id', '<', toUuid(page.after));
  return (await query.execute()).map(toInvitation);
}

/** Requires the organisation or the address: any other invitation is not found. */
export async function findInvitation(
  reader: Reader,
  id: InvitationId,
  of: { readonly orgId: OrgId } | { readonly email: string },
): Promise<Invitation | null> {
  const query = invitationsQuery(reader).where('invitations.id', '=', toUuid(id));
  const row = await (
    'orgId' in of
      ? query.where('invitations.org_id', '=', toUuid(of.orgId))
      : query.where('invitations.email', '=', of.email)
  ).executeTakeFirst();
  return row === undefined ? null : toInvitation(row);
}

export async function findPendingInvitation(tx: Tx, orgId: OrgId, email: string): Promise<Invitation | null> {
  const row = await invitationsQuery(tx)
    .where('invitations.org_id', '=', toUuid(orgId))
    .where('invitations.email', '=', email)
    .where('invitations.status', '=', 'pending')
    .executeTakeFirst();
  return row === undefined ? null : toInvitation(row);
}

/**
 * How many are open, and how many were created or renewed since then: a renewal also sends an email. Reliable while the caller holds
 * the lock on the organisation.
 */
export async function countInvitations(
  tx: Tx,
  orgId: OrgId,
  at: { readonly now: Date; readonly since: Date; readonly lastsMs: number },
): Promise<{ readonly open: number; readonly recent: number }> {
  const endAfter = new Date(at.since.getTime() + at.lastsMs);
  const { rows } = await sql<{ open: number; recent: number }>`
    select count(*) filter (where status = 'pending' and expires_at > ${at.now})::int as open,
           count(*) filter (where expires_at > ${endAfter})::int as recent
      from invitations
     where org_id = ${toUuid(orgId)}
       and ((status = 'pending' and expires_at > ${at.now}) or expires_at > ${endAfter})
  `.execute(tx.kysely);
  return rows[0] ?? { open: 0, recent: 0 };
}

export interface InvitationTerms {
  readonly role: Role;
  readonly inviterId: UserId;
  readonly expiresAt: Date;
}

export async function insertInvitation(
  tx: Tx,
  orgId: OrgId,
  email: string,
  terms: InvitationTerms,
): Promise<InvitationId> {
  const id = tx.ids.next('inv');
  await tx.kysely
    .insertInto('invitations')
    .values({
      id: toUuid(id),
      org_id: toUuid(orgId),
      email,
      role: terms.role,
      inviter_id: toUuid(terms.inviterId),
      expires_at: terms.expiresAt,
      created_at: tx.clock.now(),
    })
    .execute();
  return id;
}

export async function renewInvitation(
  tx: Tx,
  orgId: OrgId,
  id: InvitationId,
  terms: InvitationTerms,
): Promise<void> {
  await tx.kysely
    .updateTable('invitations')
    .set({ role: terms.role, inviter_id: toUuid(terms.inviterId), expires_at: terms.expiresAt })
    .where('id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .where('status', '=', 'pending')
    .execute();
}

/** Sets the notice of the invitation and returns the previous one. */
export async function setInvitationNotice(
  tx: Tx,
  orgId: OrgId,
  id: InvitationId,
  noticeId: NoticeId | null,
): Promise<NoticeId | null> {
  const { rows } = await sql<{ before: string | null }>`
    update invitations as invitation set notice_id = ${noticeId === null ? null : toUuid(noticeId)}
      from (select id, notice_id from invitations
             where id = ${toUuid(id)} and org_id = ${toUuid(orgId)} for update) as old
     where invitation.id = old.id
    returning old.notice_id as before
  `.execute(tx.kysely);
  const before = rows[0]?.before ?? null;
  return before === null ? null : fromUuid('ntc', before);
}

/** False if the invitation is already answered. */
export async function setInvitationStatus(
  tx: Tx,
  orgId: OrgId,
  id: InvitationId,
  status: Exclude<InvitationStatus, 'pending'>,
): Promise<boolean> {
  const row = await tx.kysely
    .updateTable('invitations')
    .set({ status, answered_at: tx.clock.now() })
    .where('id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .where('status', '=', 'pending')
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}
