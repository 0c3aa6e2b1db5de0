import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop as startUngated, type Loop, type StartLoop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { Mailer } from '@millrace/platform/mail';
import { assignDueRecipients, sendDueEmails } from './notices.service.ts';
import { deleteOldNotices } from './notices.store.ts';

export interface NoticeOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Logger;
  /** Null: no email is sent, and notices are deleted after their retention. */
  readonly mailer: Mailer | null;
  /** The console that emails link to. */
  readonly consoleUrl: string | null;
  /** Starts the loops. In a worker they wait while sent emails might be missing in the database. */
  readonly startLoop?: StartLoop;
}

const ADDRESS_EVERY_MS = 1_000;
const SEND_EVERY_MS = 1_000;
const NOTICE_DELETE_EVERY_MS = 60_000;
const ADDRESS_BATCH = 50;
/** The maximum number of connections of a worker to the mail server. */
const SEND_BATCH = 8;
/** Longer than any attempt with all its timeouts. */
const LEASE_MS = 300_000;
/** The longest pause while the server accepts nothing. */
const OUTAGE_BACKOFF_MS = 60_000;
const NOTICE_RETENTION_MS = 30 * 86_400_000;
const NOTICE_DELETE_BATCH = 500;

/** Addresses notices, sends emails and deletes old ones. Any number of workers can run it. */
export function startNotices(options: NoticeOptions): readonly Loop[] {
  const { db, clock, log, mailer, consoleUrl, startLoop = startUngated } = options;
  const deleteLoop = startLoop(
    {
      name: 'forget old notices',
      clock,
      log,
      idleMs: NOTICE_DELETE_EVERY_MS,
      maxBackoffMs: NOTICE_DELETE_EVERY_MS,
    },
    async () => {
      const deleted = await db.transaction(
        { name: 'forget old notices', isolation: 'read committed' },
        (tx) => deleteOldNotices(tx, { olderThanMs: NOTICE_RETENTION_MS, limit: NOTICE_DELETE_BATCH }),
      );
      return deleted === NOTICE_DELETE_BATCH ? 'busy' : 'idle';
    },
  );
  if (mailer === null) {
    log.warn('no email is sent: MILLRACE_SMTP_URL is not set');
    return [deleteLoop];
  }
  const send = startLoop(
    { name: 'send mail', clock, log, idleMs: SEND_EVERY_MS, maxBackoffMs: OUTAGE_BACKOFF_MS },
    async () => {
      const sending = { db, clock, log, mailer, consoleUrl, leaseMs: LEASE_MS, limit: SEND_BATCH };
      const { claimed, unavailable } = await sendDueEmails(sending);
      if (unavailable !== null) throw new Error(`The mail server accepts no email: ${unavailable}`);
      return claimed === SEND_BATCH ? 'busy' : 'idle';
    },
  );
  const address = startLoop(
    { name: 'address notices', clock, log, idleMs: ADDRESS_EVERY_MS, maxBackoffMs: OUTAGE_BACKOFF_MS },
    async () => {
      const addressed = await assignDueRecipients(db, { log, limit: ADDRESS_BATCH });
      if (addressed > 0) send.wake();
      return addressed === ADDRESS_BATCH ? 'busy' : 'idle';
    },
  );
  return [address, send, deleteLoop];
}
