import type { Db } from '@millrace/platform/db';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { DigestedNotice } from './digest.ts';
import type { EmailOutcome } from './retry-schedule.ts';
import { outcomeColumns, type ClaimedEmail } from './notices.store.ts';

/** All SQL about digests. */

/**
 * Claims the waiting notices of a digest, due or not, for the worker that has claimed one of them. Notices that another worker has
 * claimed become another digest. A notice that is locked for a moment is left out, even if this worker has claimed it.
 */
export async function claimDigest(
  db: Db,
  { claim, notice, userId, category }: ClaimedEmail,
  options: { readonly leaseMs: number; readonly limit: number },
): Promise<readonly DigestedNotice[]> {
  if (userId === null) return [];
  const { rows } = await sql<{ id: string; type: string; data: unknown; occurred_at: Date }>`
    with chosen as (
      select notice_id, recipient
        from notice_mails
       where org_id = ${toUuid(notice.orgId)} and user_id = ${toUuid(userId)} and mode = ${notice.mode}
         and category = ${category} and state = 'waiting' and in_digest
         and (claim = ${claim} or coalesce(claimed_until <= clock_timestamp(), true))
       order by (claim = ${claim}) desc nulls last, created_at, notice_id
       limit ${options.limit}
         for update skip locked
    ),
    claimed as (
      update notice_mails mail
         set claim = ${claim},
             claimed_until = clock_timestamp() + ${options.leaseMs} * interval '1 millisecond'
        from chosen
       where mail.notice_id = chosen.notice_id and mail.recipient = chosen.recipient
      returning mail.notice_id
    )
    select notice.id, notice.type, notice.data, notice.occurred_at
      from claimed
      join notices notice on notice.id = claimed.notice_id
     order by notice.occurred_at, notice.id
  `.execute(db.kysely);
  return rows.map((row) => ({
    id: fromUuid('ntc', row.id),
    type: row.type,
    data: row.data,
    occurredAt: row.occurred_at,
  }));
}

/** Records the outcome for every notice of a digest that its sender still claims, and releases the other notices of this claim. */
export async function recordDigestOutcome(
  db: Db,
  mail: ClaimedEmail,
  digested: readonly DigestedNotice[],
  outcome: { readonly settlement: EmailOutcome; readonly now: Date },
): Promise<void> {
  const { settlement, now } = outcome;
  const ids = digested.map(({ id }) => toUuid(id));
  await claimedSiblings(db, mail)
    .set({ ...outcomeColumns(settlement, now), state: settlement.state })
    .where('notice_id', 'in', ids)
    .execute();
  await releaseDigest(db, mail);
}

export async function releaseDigest(db: Db, mail: ClaimedEmail): Promise<void> {
  await claimedSiblings(db, mail).execute();
}

function claimedSiblings(db: Db, { claim, notice, userId, category }: ClaimedEmail) {
  return db.kysely
    .updateTable('notice_mails')
    .set({ claim: null, claimed_until: null })
    .where('org_id', '=', toUuid(notice.orgId))
    .where('user_id', '=', userId === null ? null : toUuid(userId))
    .where('mode', '=', notice.mode)
    .where('category', '=', category)
    .where('in_digest', '=', true)
    .where('claim', '=', claim)
    .where('state', '=', 'waiting');
}
