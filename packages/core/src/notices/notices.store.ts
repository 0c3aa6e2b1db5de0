import type { NoticeCategory, Role } from '@millrace/contract';
import type { Db, Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type NoticeId, type OrgId, type UserId } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { sql, type NotNull } from 'kysely';
import { memberRole, membersOf, organisationName, userEmail, userName } from '../identity/index.ts';
import type { EmailOutcome } from './retry-schedule.ts';
import { recipientsLoop } from './loops.ts';
import { defaultRolesOf, type RecipientCandidate, type NoticeType } from './notices.ts';
import { choicesOf, type ChoiceRow } from './preferences.store.ts';

/** All SQL about notices and their emails. */

export interface Notice {
  readonly id: NoticeId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** Workers of another version may write types that this one does not know. */
  readonly type: string;
  readonly data: unknown;
  readonly occurredAt: Date;
}

/** Stores a notice that has no event. */
export async function insertNotice(
  tx: Tx,
  orgId: OrgId,
  notice: { readonly mode: Mode; readonly type: NoticeType; readonly data: object },
): Promise<NoticeId> {
  const id = tx.ids.next('ntc');
  await tx.kysely
    .insertInto('notices')
    .values({
      id: toUuid(id),
      org_id: toUuid(orgId),
      mode: notice.mode,
      type: notice.type,
      data: JSON.stringify(notice.data),
      occurred_at: tx.clock.now(),
    })
    .execute();
  return id;
}

/** The oldest unaddressed notices, without postponed ones. */
export async function listUnaddressed(
  reader: Reader,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<readonly NoticeId[]> {
  const rows = await reader.kysely
    .selectFrom('notices')
    .select('id')
    .where('addressed_at', 'is', null)
    .where(isItemAvailable(recipientsLoop, sql<string>`notices.id::text`, now))
    .orderBy('recorded_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => fromUuid('ntc', id));
}

/** Locks the notices that no other worker is addressing, until the transaction ends. */
export async function lockUnaddressed(tx: Tx, ids: readonly NoticeId[]): Promise<readonly Notice[]> {
  const rows = await tx.kysely
    .selectFrom('notices')
    .select(['id', 'org_id', 'mode', 'type', 'data', 'occurred_at'])
    .where('addressed_at', 'is', null)
    .where('id', 'in', [...ids.map(toUuid)])
    .orderBy('recorded_at')
    .orderBy('id')
    .forUpdate()
    .skipLocked()
    .execute();
  return rows.map((row) => ({
    id: fromUuid('ntc', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    type: row.type,
    data: row.data,
    occurredAt: row.occurred_at,
  }));
}

/** Possible recipients by role, by choice or as the user it is about, with their choices; oldest membership first. */
export async function findRecipientCandidates(
  tx: Tx,
  orgId: OrgId,
  wanted: {
    readonly mode: Mode;
    readonly category: NoticeCategory;
    readonly about: UserId | null;
    readonly limit: number;
  },
): Promise<readonly RecipientCandidate[]> {
  const { mode, category, about, limit } = wanted;
  const roles = mode === 'live' ? [...defaultRolesOf(category)] : [];
  const { rows } = await sql<{ user_id: string; role: Role; choices: ChoiceRow[] }>`
    select member.user_id, member.role,
           coalesce((select json_agg(json_build_object('category', choice.category, 'wanted', choice.wanted))
                       from notice_preferences choice
                      where choice.org_id = member.org_id and choice.user_id = member.user_id
                        and choice.mode = ${mode}), '[]'::json) as choices
      from ${membersOf(orgId)} as member
     where (member.role = any(${roles})
            or member.user_id = ${about === null ? null : toUuid(about)}
            or exists (select from notice_preferences chosen
                        where chosen.org_id = member.org_id and chosen.user_id = member.user_id
                          and chosen.mode = ${mode} and chosen.category = ${category} and chosen.wanted))
     order by member.id
     limit ${limit}
  `.execute(tx.kysely);
  return rows.map((row) => ({
    userId: fromUuid('usr', row.user_id),
    role: row.role,
    choices: choicesOf(row.choices),
  }));
}

/** How many emails of a category and mode each member got since then, without digests. */
export async function countRecentEmails(
  tx: Tx,
  orgId: OrgId,
  { mode, category, since }: { readonly mode: Mode; readonly category: NoticeCategory; readonly since: Date },
): Promise<ReadonlyMap<UserId, number>> {
  const rows = await tx.kysely
    .selectFrom('notice_mails')
    .select(['user_id', (of) => of.fn.countAll<bigint>().as('count')])
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('category', '=', category)
    .where('created_at', '>', since)
    .where('state', '<>', 'skipped')
    .where('in_digest', '=', false)
    .where('user_id', 'is not', null)
    .groupBy('user_id')
    .$narrowType<{ user_id: NotNull }>()
    .execute();
  return new Map(rows.map((row) => [fromUuid('usr', row.user_id), Number(row.count)]));
}

export interface NewEmail {
  readonly userId: UserId;
  /** When its digest is due; null if it is sent separately and now. */
  readonly digestAt: Date | null;
}

export async function insertEmails(
  tx: Tx,
  orgId: OrgId,
  notice: { readonly id: NoticeId; readonly mode: Mode; readonly category: NoticeCategory },
  mails: readonly NewEmail[],
): Promise<void> {
  if (mails.length === 0) return;
  const now = tx.clock.now();
  const rows = mails.map(({ userId, digestAt }) => ({
    notice_id: toUuid(notice.id),
    user_id: toUuid(userId),
    org_id: toUuid(orgId),
    mode: notice.mode,
    category: notice.category,
    created_at: now,
    state: 'waiting' as const,
    next_attempt_at: digestAt ?? now,
    in_digest: digestAt !== null,
  }));
  await tx.kysely.insertInto('notice_mails').values(rows).execute();
}

export async function markAddressed(tx: Tx, orgId: OrgId, id: NoticeId): Promise<void> {
  await tx.kysely
    .updateTable('notices')
    .set({ addressed_at: tx.clock.now() })
    .where('id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .execute();
}

/** An email that this worker may send until its claim expires. */
export interface ClaimedEmail {
  readonly claim: string;
  readonly notice: Notice;
  /** The user id, or else the email address, as in the row. */
  readonly recipient: string;
  /** Null for an external email. */
  readonly userId: UserId | null;
  readonly category: NoticeCategory;
  /** Whether it is sent with the others of its user, category and mode. */
  readonly inDigest: boolean;
  readonly attempts: number;
  readonly createdAt: Date;
  readonly name: string | null;
  readonly email: string;
  readonly orgName: string;
  /** Null if the user is no longer a member. */
  readonly role: Role | null;
}

interface ClaimedRow {
  notice_id: string;
  recipient: string;
  user_id: string | null;
  org_id: string;
  mode: Mode;
  category: NoticeCategory;
  in_digest: boolean;
  attempts: number;
  created_at: Date;
  type: string;
  data: unknown;
  occurred_at: Date;
  user_name: string | null;
  email: string;
  org_name: string;
  role: Role | null;
}

/**
 * Claims due emails. The given clock decides which are due; the database's clock decides how long the claim lasts, so that workers
 * with different clocks do not send the same email.
 */
export async function claimEmails(
  db: Db,
  request: { readonly claim: string; readonly now: Date; readonly leaseMs: number; readonly limit: number },
): Promise<readonly ClaimedEmail[]> {
  const { rows } = await sql<ClaimedRow>`
    with due as (
      select notice_id, recipient
        from notice_mails
       where state = 'waiting' and next_attempt_at <= ${request.now}
         and coalesce(claimed_until <= clock_timestamp(), true)
       order by next_attempt_at
       limit ${request.limit}
         for update skip locked
    ),
    claimed as (
      update notice_mails mail
         set claim = ${request.claim},
             claimed_until = clock_timestamp() + ${request.leaseMs} * interval '1 millisecond'
        from due
       where mail.notice_id = due.notice_id and mail.recipient = due.recipient
      returning mail.*
    )
    select claimed.notice_id, claimed.recipient, claimed.user_id, claimed.org_id, claimed.mode, claimed.category, claimed.in_digest, claimed.attempts,
           claimed.created_at, notice.type, notice.data, notice.occurred_at, ${userName('claimed.user_id')} as user_name,
           coalesce(${userEmail('claimed.user_id')}, claimed.email) as email,
           coalesce(${organisationName('claimed.org_id')}, '') as org_name,
           ${memberRole({ org: 'claimed.org_id', user: 'claimed.user_id' })} as role
      from claimed
      join notices notice on notice.id = claimed.notice_id
     order by claimed.created_at, claimed.notice_id, claimed.recipient
  `.execute(db.kysely);
  return rows.map((row) => ({
    claim: request.claim,
    notice: {
      id: fromUuid('ntc', row.notice_id),
      orgId: fromUuid('org', row.org_id),
      mode: row.mode,
      type: row.type,
      data: row.data,
      occurredAt: row.occurred_at,
    },
    recipient: row.recipient,
    userId: row.user_id === null ? null : fromUuid('usr', row.user_id),
    category: row.category,
    inDigest: row.in_digest,
    attempts: row.attempts,
    createdAt: row.created_at,
    name: row.user_name,
    email: row.email,
    orgName: row.org_name,
    role: row.role,
  }));
}

export function outcomeColumns(settlement: EmailOutcome, now: Date) {
  if (settlement.state === 'waiting') {
    const { attempts, nextAttemptAt, reason } = settlement;
    return { attempts, next_attempt_at: nextAttemptAt, last_error: reason };
  }
  return {
    next_attempt_at: null,
    done_at: now,
    last_error: settlement.state === 'sent' ? null : settlement.reason,
  };
}

/** False if another worker has claimed the email meanwhile. */
export async function recordEmailOutcome(
  db: Db,
  mail: ClaimedEmail,
  settlement: EmailOutcome,
  now: Date,
): Promise<boolean> {
  const settled = await db.kysely
    .updateTable('notice_mails')
    .set({ ...outcomeColumns(settlement, now), state: settlement.state, claim: null, claimed_until: null })
    .where('notice_id', '=', toUuid(mail.notice.id))
    .where('recipient', '=', mail.recipient)
    .where('org_id', '=', toUuid(mail.notice.orgId))
    .where('claim', '=', mail.claim)
    .where('state', '=', 'waiting')
    .executeTakeFirst();
  return settled.numUpdatedRows === 1n;
}

/** Deletes old notices with their emails, by the database's clock. Returns how many. */
export async function deleteOldNotices(
  tx: Tx,
  { olderThanMs, limit }: { readonly olderThanMs: number; readonly limit: number },
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    delete from notices
     where id in (select id from notices
                   where recorded_at < clock_timestamp() - ${olderThanMs} * interval '1 millisecond'
                   limit ${limit} for update skip locked)
    returning id
  `.execute(tx.kysely);
  return rows.length;
}
