import { randomUUID } from 'node:crypto';
import type { EventType } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { parseId, toUuid, type NoticeId, type OrgId, type UserId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import type { Email, Mailer, SendOutcome } from '@millrace/platform/mail';
import { counter } from '@millrace/platform/telemetry';
import { deletionAt, digestDueAt, digestIdOf, digestMessage } from './digest.ts';
import { claimDigest, releaseDigest, recordDigestOutcome } from './digest.store.ts';
import { emailOutcomeOf, type EmailOutcome } from './retry-schedule.ts';
import { recipientsLoop, emailLoop } from './loops.ts';
import { categoryOf, isNoticeType, mayReadCategory, parseNoticeData, recipientsOf } from './notices.ts';
import type { NoticeData, NoticeType } from './notices.ts';
import {
  claimEmails,
  markAddressed,
  countRecentEmails,
  findRecipientCandidates,
  insertEmails,
  insertNotice,
  listUnaddressed,
  lockUnaddressed,
  recordEmailOutcome,
  type ClaimedEmail,
  type NewEmail,
  type Notice,
} from './notices.store.ts';
import { renderDigestEmail, renderNoticeEmail, renderExternalEmail } from './render-email.ts';

type CountedOutcome = SendOutcome['kind'] | Exclude<EmailOutcome['state'], 'waiting'> | 'unknown';
const emailsCounter = counter('millrace_mails_total');
const tooOldCounter = counter('millrace_notices_too_old_total');

const HOUR_MS = 3_600_000;
/** An older notice waited because no mail server was set or no worker ran, and is no longer useful. */
const TOO_OLD_MS = 24 * HOUR_MS;
/** Per category, organisation, mode and user. Further notices are sent together in a digest. */
export const EMAILS_PER_HOUR = 20;
const RECIPIENTS_MAX = 500;
/** A digest lists each notice, so more of them need another digest. */
const DIGEST_NOTICES_MAX = 500;

/** Notifies members of something that has no event, in the transaction of its cause. */
export async function notifyMembers<Type extends Exclude<NoticeType, EventType>>(
  tx: Tx,
  orgId: OrgId,
  notice: { readonly mode: Mode; readonly type: Type; readonly data: NoticeData<Type> },
): Promise<NoticeId> {
  return insertNotice(tx, orgId, notice);
}

/** Assigns recipients to the oldest notices. Returns the number of processed notices. */
export async function assignDueRecipients(
  db: Db,
  { log, limit }: { readonly log: Pick<Logger, 'warn'>; readonly limit: number },
): Promise<number> {
  const isolation = 'read committed';
  const due = await db.transaction({ name: 'list unaddressed notices', isolation }, (tx) =>
    listUnaddressed(tx, { now: tx.clock.now(), limit }),
  );
  await createItemRunner(recipientsLoop, { db, log }).runBatch(due, {
    key: (id) => toUuid(id),
    together: (ids) =>
      db.transaction({ name: 'address notices', isolation }, async (tx) => {
        for (const notice of await lockUnaddressed(tx, ids)) await assignRecipients(tx, notice);
      }),
  });
  return due.length;
}

async function assignRecipients(tx: Tx, notice: Notice): Promise<void> {
  const { id, orgId, mode, type } = notice;
  const isTooOld = isStale(notice, tx.clock.now());
  if (isTooOld) tooOldCounter.add(1);
  // A type of another version is skipped, so that it does not block the others.
  if (!isTooOld && isNoticeType(type)) {
    const category = categoryOf[type];
    await insertEmails(tx, orgId, { id, mode, category }, await planEmails(tx, { ...notice, type }));
  }
  await markAddressed(tx, orgId, id);
}

/** A deletion warning is useful until the deletion, however long it waited. */
function isStale({ type, data, occurredAt }: Notice, now: Date): boolean {
  const isOld = now.getTime() - occurredAt.getTime() > TOO_OLD_MS;
  if (!isOld || !isNoticeType(type)) return isOld;
  const deletion = deletionAt(type, data);
  return deletion === null || deletion <= now;
}

async function planEmails(
  tx: Tx,
  { orgId, mode, type, data }: Notice & { readonly type: NoticeType },
): Promise<readonly NewEmail[]> {
  const category = categoryOf[type];
  const about = subjectUserOf(type, data);
  const members = await findRecipientCandidates(tx, orgId, { mode, category, about, limit: RECIPIENTS_MAX });
  const recipients = recipientsOf({ category, mode, about }, members);
  if (recipients.length === 0) return [];
  const since = new Date(tx.clock.nowMs() - HOUR_MS);
  const recent = await countRecentEmails(tx, orgId, { mode, category, since });
  const digestAt = digestDueAt(tx.clock.now(), deletionAt(type, data) !== null);
  return recipients.map((userId) => {
    const isTooMuch = (recent.get(userId) ?? 0) >= EMAILS_PER_HOUR;
    return { userId, digestAt: isTooMuch ? digestAt : null };
  });
}

/** The user that the notice is about, if any. */
function subjectUserOf(type: NoticeType, data: unknown): UserId | null {
  if (type !== 'key.created') return null;
  const read = parseNoticeData(type, data);
  return read === null ? null : parseId('usr', read.createdBy);
}

export interface SendEmailsDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn'>;
  readonly mailer: Mailer;
  readonly consoleUrl: string | null;
  /** How long a worker without contact keeps its claimed emails. */
  readonly leaseMs: number;
  readonly limit: number;
}

export interface SendEmailsResult {
  readonly claimed: number;
  /** The server's reason, if it accepts no email now. */
  readonly unavailable: string | null;
}

/** Sends due emails concurrently: `limit` is small. */
export async function sendDueEmails(sending: SendEmailsDeps): Promise<SendEmailsResult> {
  const { db, clock, log, leaseMs, limit } = sending;
  const mails = await claimEmails(db, { claim: randomUUID(), now: db.clock.now(), leaseMs, limit });
  let unavailable: string | null = null;
  await createItemRunner(emailLoop, { clock, log }).run(withoutDigestSiblings(mails), {
    key: (mail) => `${mail.notice.id} ${mail.email}`,
    work: async (mail) => {
      unavailable = (await sendClaimedEmail(sending, mail)) ?? unavailable;
    },
  });
  return { claimed: mails.length, unavailable };
}

/** Keeps one email per digest, which includes the others. */
function withoutDigestSiblings(mails: readonly ClaimedEmail[]): readonly ClaimedEmail[] {
  const digests = new Set<string>();
  return mails.filter(({ inDigest, recipient, category, notice }) => {
    if (!inDigest) return true;
    const digest = [notice.orgId, notice.mode, category, recipient].join(' ');
    if (digests.has(digest)) return false;
    digests.add(digest);
    return true;
  });
}

async function sendClaimedEmail(sending: SendEmailsDeps, mail: ClaimedEmail): Promise<string | null> {
  const { db, mailer, consoleUrl, leaseMs } = sending;
  const digested = mail.inDigest ? await claimDigest(db, mail, { leaseMs, limit: DIGEST_NOTICES_MAX }) : [];
  if (mail.inDigest && digested.length === 0) {
    await releaseDigest(db, mail);
    return null;
  }
  const settle = async (settlement: EmailOutcome, outcome: CountedOutcome): Promise<void> => {
    emailsCounter.add(1, { outcome });
    if (mail.inDigest) await recordDigestOutcome(db, mail, digested, { settlement, now: db.clock.now() });
    else await recordEmailOutcome(db, mail, settlement, db.clock.now());
  };
  const { notice, userId, role, name, email, orgName, category } = mail;
  const { type } = notice;
  const sender = { from: mailer.from, consoleUrl };
  const post = async (rendered: Email | null): Promise<string | null> => {
    if (rendered === null) {
      const reason = 'The data of the notice does not match its type.';
      await settle({ state: 'given_up', reason }, 'given_up');
      return null;
    }
    const outcome = await mailer.send(rendered);
    const settlement = emailOutcomeOf(outcome, mail, db.clock.now());
    await settle(settlement, settlement.state === 'waiting' ? outcome.kind : settlement.state);
    return outcome.kind === 'unavailable' ? outcome.reason : null;
  };
  if (userId === null) return post(renderExternalEmail(notice, email, mailer.from));
  if (!mail.inDigest && !isNoticeType(type)) {
    const outcome = {
      kind: 'unavailable',
      reason: 'This worker does not know the type of the notice.',
    } as const;
    await settle(emailOutcomeOf(outcome, mail, db.clock.now()), 'unknown');
    return null;
  }
  if (role === null || !mayReadCategory(role, category)) {
    await settle(
      { state: 'skipped', reason: 'The recipient is no longer a member who may read it.' },
      'skipped',
    );
    return null;
  }
  const recipient = { userId, name: name ?? '', email, role, orgId: notice.orgId, orgName };
  if (mail.inDigest) {
    const message = digestMessage(category, digested);
    const id = digestIdOf(digested);
    return post(message === null ? null : renderDigestEmail({ id, message }, recipient, sender));
  }
  return post(isNoticeType(type) ? renderNoticeEmail({ ...notice, type }, recipient, sender) : null);
}
