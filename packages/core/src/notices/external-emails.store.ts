import type { Reader, Tx } from '@millrace/platform/db';
import { toUuid, type NoticeId, type OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { ExternalEmail } from './external-emails.ts';

/** All SQL about letters to mailboxes of people who are no members, and may have no account. */

/** What such letters are counted by; nobody switches them on or off. */
const CATEGORY = 'invitations';

/** Writes the letter down as addressed already: there is nobody to look for. */
export async function insertExternalEmail(tx: Tx, orgId: OrgId, email: ExternalEmail): Promise<NoticeId> {
  const id = tx.ids.next('ntc');
  const now = tx.clock.now();
  const place = { org_id: toUuid(orgId), mode: 'live' as const };
  await tx.kysely
    .insertInto('notices')
    .values({
      ...place,
      id: toUuid(id),
      type: email.type,
      data: JSON.stringify(email.data),
      occurred_at: now,
      addressed_at: now,
    })
    .execute();
  await tx.kysely
    .insertInto('notice_mails')
    .values({
      ...place,
      notice_id: toUuid(id),
      email: email.email,
      category: CATEGORY,
      state: 'waiting',
      next_attempt_at: now,
      created_at: now,
    })
    .execute();
  return id;
}

/**
 * How many letters this mailbox was written since then, by whichever organisation. Those called off in time do not count. Whoever
 * counts holds the mailbox until the transaction ends: two organisations at once would not see each other's letter.
 */
export async function countExternalEmails(tx: Tx, email: string, since: Date): Promise<number> {
  await lockEmailAddress(tx, email);
  const { count } = await tx.kysely
    .selectFrom('notice_mails')
    .select((of) => of.fn.countAll<bigint>().as('count'))
    .where('email', '=', email)
    .where('created_at', '>', since)
    .where((of) => of.or([of('state', '<>', 'skipped'), of('claim', 'is not', null)]))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Held until the transaction ends. */
async function lockEmailAddress(tx: Tx, email: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`mailbox ${email}`}, 0))`.execute(tx.kysely);
}

/** Whether this mailbox refuses mail about invitations. */
export async function isUnsubscribed(reader: Reader, email: string): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('mail_refusals')
    .select('email')
    .where('email', '=', email)
    .executeTakeFirst();
  return row !== undefined;
}

/** Refuses further mail about invitations, also mail that waits to be sent. Refusing again changes nothing. */
export async function unsubscribe(tx: Tx, email: string): Promise<void> {
  // An organisation that invites at the same time would not see the refusal.
  await lockEmailAddress(tx, email);
  const now = tx.clock.now();
  await tx.kysely
    .insertInto('mail_refusals')
    .values({ email, refused_at: now })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .execute();
  await tx.kysely
    .updateTable('notice_mails')
    .set({
      state: 'skipped',
      next_attempt_at: null,
      done_at: now,
      last_error: 'The mailbox refuses mail about invitations.',
    })
    .where('email', '=', email)
    .where('state', '=', 'waiting')
    .execute();
}

export async function resubscribe(tx: Tx, email: string): Promise<void> {
  await tx.kysely.deleteFrom('mail_refusals').where('email', '=', email).execute();
}

/**
 * Whatever of a notice has not been sent never is. One that is just being sent may arrive all the same, so it keeps the mark of
 * whoever sends it, and counts: else whoever invites and takes back in turns could write to a mailbox without end.
 */
export async function cancelEmails(tx: Tx, orgId: OrgId, id: NoticeId, reason: string): Promise<void> {
  await tx.kysely
    .updateTable('notice_mails')
    .set({
      state: 'skipped',
      next_attempt_at: null,
      done_at: tx.clock.now(),
      last_error: reason,
    })
    .where('notice_id', '=', toUuid(id))
    .where('org_id', '=', toUuid(orgId))
    .where('state', '=', 'waiting')
    .execute();
}
