import { randomUUID } from 'node:crypto';
import type { EventType } from '@millrace/contract';
import type { Clock } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { parseId, type NoticeId, type OrgId, type UserId } from '@millrace/platform/ids';
import type { Letter, Mailer } from '@millrace/platform/mail';
import { counter } from '@millrace/platform/telemetry';
import { settlementOf, type Settlement } from './ladder.ts';
import {
  categoryOf,
  isNoticeType,
  mayKnow,
  readData,
  recipientsOf,
  type NoticeData,
  type NoticeType,
} from './notices.ts';
import {
  claimMails,
  closeNotice,
  countRecent,
  findCandidates,
  insertMails,
  insertNotice,
  lockUnaddressed,
  settleMail,
  type ClaimedMail,
  type NewMail,
  type Notice,
} from './notices.store.ts';
import { letterOf, mailboxLetterOf } from './render.ts';

const letters = counter('millrace_mails_total', 'Letters to people, by what became of them.');
const late = counter('millrace_notices_too_old_total', 'Notices that nobody addressed in time.');

const HOUR_MS = 3_600_000;
/** A notice that waited for longer, because no mail was set up or no worker ran, is news to nobody. */
const TOO_OLD_MS = 24 * HOUR_MS;
/** Of one category, in one organisation and mode, to one person, in an hour: whoever gets more does not read them. */
export const LETTERS_AN_HOUR = 20;
const MEMBERS_MOST = 500;

/** Has people told of something that no event says, in the transaction in which it happens. */
export async function tellPeople<Type extends Exclude<NoticeType, EventType>>(
  tx: Tx,
  orgId: OrgId,
  notice: { readonly mode: Mode; readonly type: Type; readonly data: NoticeData<Type> },
): Promise<NoticeId> {
  return insertNotice(tx, orgId, notice);
}

/** Writes down who gets the oldest notices. Answers how many it looked at. */
export async function addressDue(db: Db, limit: number): Promise<number> {
  return db.transaction({ name: 'address notices', isolation: 'read committed' }, async (tx) => {
    const notices = await lockUnaddressed(tx, limit);
    for (const notice of notices) await address(tx, notice);
    return notices.length;
  });
}

async function address(tx: Tx, notice: Notice): Promise<void> {
  const { id, orgId, mode, type, occurredAt } = notice;
  const isTooOld = tx.clock.nowMs() - occurredAt.getTime() > TOO_OLD_MS;
  if (isTooOld) late.add(1);
  // Of a type that this version does not know nobody is told: it must not stand in the way of the others.
  if (!isTooOld && isNoticeType(type)) {
    const category = categoryOf[type];
    await insertMails(tx, orgId, { id, mode, category }, await mailsOf(tx, { ...notice, type }));
  }
  await closeNotice(tx, orgId, id);
}

async function mailsOf(
  tx: Tx,
  { orgId, mode, type, data }: Notice & { readonly type: NoticeType },
): Promise<readonly NewMail[]> {
  const category = categoryOf[type];
  const members = await findCandidates(tx, orgId, { mode, limit: MEMBERS_MOST });
  const recipients = recipientsOf({ category, mode, about: personOf(type, data) }, members);
  if (recipients.length === 0) return [];
  const since = new Date(tx.clock.nowMs() - HOUR_MS);
  const recent = await countRecent(tx, orgId, { mode, category, since });
  return recipients.map((userId) => {
    const isTooMuch = (recent.get(userId) ?? 0) >= LETTERS_AN_HOUR;
    return { userId, skipped: isTooMuch ? `More than ${LETTERS_AN_HOUR} of them in an hour.` : null };
  });
}

/** Whom it is about, where that is a person. */
function personOf(type: NoticeType, data: unknown): UserId | null {
  if (type !== 'key.created') return null;
  const read = readData(type, data);
  return read === null ? null : parseId('usr', read.createdBy);
}

export interface Sending {
  readonly db: Db;
  readonly clock: Clock;
  readonly mailer: Mailer;
  readonly consoleUrl: string | null;
  /** How long a worker that says nothing keeps the letters it has claimed. */
  readonly leaseMs: number;
  readonly limit: number;
}

export interface Sent {
  readonly claimed: number;
  /** What the server said, if it takes nothing at all now. */
  readonly unavailable: string | null;
}

/** Sends letters that are due, all at once: `limit` is small. */
export async function sendDue(sending: Sending): Promise<Sent> {
  const { db, clock, leaseMs, limit } = sending;
  const mails = await claimMails(db, { claim: randomUUID(), now: clock.now(), leaseMs, limit });
  const outcomes = await Promise.all(mails.map((mail) => sendOne(sending, mail)));
  return { claimed: mails.length, unavailable: outcomes.find((reason) => reason !== null) ?? null };
}

async function sendOne(sending: Sending, mail: ClaimedMail): Promise<string | null> {
  const { db, clock, mailer, consoleUrl } = sending;
  const settle = async (settlement: Settlement, outcome: string): Promise<void> => {
    letters.add(1, { outcome });
    await settleMail(db, mail, settlement, clock.now());
  };
  const { notice, userId, role, name, email, orgName, category } = mail;
  const { type } = notice;
  const sender = { from: mailer.from, consoleUrl };
  const post = async (letter: Letter | null): Promise<string | null> => {
    if (letter === null) {
      const reason = 'The notice does not say what its type promises.';
      await settle({ state: 'given_up', reason }, 'given_up');
      return null;
    }
    const outcome = await mailer.send(letter);
    const settlement = settlementOf(outcome, mail, clock.now());
    await settle(settlement, settlement.state === 'waiting' ? outcome.kind : settlement.state);
    return outcome.kind === 'unavailable' ? outcome.reason : null;
  };
  if (userId === null) return post(mailboxLetterOf(notice, email, mailer.from));
  if (!isNoticeType(type)) {
    const outcome = { kind: 'unavailable', reason: 'This worker does not know its type.' } as const;
    await settle(settlementOf(outcome, mail, clock.now()), 'unknown');
    return null;
  }
  if (role === null || !mayKnow(role, category)) {
    await settle({ state: 'skipped', reason: 'Not a member any more who may know it.' }, 'skipped');
    return null;
  }
  const addressee = { userId, name: name ?? '', email, role, orgId: notice.orgId, orgName };
  return post(letterOf({ ...notice, type }, addressee, sender));
}
