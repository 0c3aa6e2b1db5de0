import type { Reader, Tx } from '@millrace/platform/db';
import { toUuid, type NoticeId, type OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { ExternalEmail } from './external-emails.ts';

/** All SQL about emails to addresses of people who are not members and may have no account. */

/** The category of external emails; it is not a preference. */
const CATEGORY = 'invitations';

/** Stores the email as already addressed, because its recipient is known. */
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
 * How many emails were sent to this address since then, by any organisation, without those cancelled in time. Locks the address until
 * the transaction ends, so that two organisations see each other's email.
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

async function lockEmailAddress(tx: Tx, email: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`mailbox ${email}`}, 0))`.execute(tx.kysely);
}

export async function isUnsubscribed(reader: Reader, email: string): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('mail_refusals')
    .select('email')
    .where('email', '=', email)
    .executeTakeFirst();
  return row !== undefined;
}

/** Stops invitation emails to this address, including waiting ones. Idempotent. */
export async function unsubscribe(tx: Tx, email: string): Promise<void> {
  // Without the lock, a concurrent invitation would not see the opt-out.
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
      last_error: 'The recipient has opted out of invitation emails.',
    })
    .where('email', '=', email)
    .where('state', '=', 'waiting')
    .execute();
}

export async function resubscribe(tx: Tx, email: string): Promise<void> {
  await tx.kysely.deleteFrom('mail_refusals').where('email', '=', email).execute();
}

/**
 * Cancels emails of a notice that are not sent yet. An email that is being sent may still arrive, so it keeps its claim and counts
 * against the limit; otherwise inviting and withdrawing in turn could send any number of emails.
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
