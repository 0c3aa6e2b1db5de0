import { createHash } from 'node:crypto';
import type { NoticeCategory } from '@millrace/contract';
import { divideWithRemainder } from '@millrace/platform/money';
import { toUuid, type NoticeId } from '@millrace/platform/ids';
import type { NoticeMessage } from './notice-messages.ts';
import { isNoticeType, parseNoticeData, type NoticeType } from './notices.ts';
import { noticeMessageOf } from './render-email.ts';
import { formatInstant } from './format-values.ts';

/** Combines notices beyond the hourly limit of a user into one email. Pure. */

const HOUR_MS = 3_600_000;
/** Deletion warnings are sent an hour before the deletion at the latest, so their digest must not wait for an hour. */
const WARNING_MS = 300_000;

/** The time of the deletion, for a notice that warns of it; null for all others. */
export function deletionAt(type: NoticeType, data: unknown): Date | null {
  if (type !== 'rental.expiring' && type !== 'instance.expiring') return null;
  const read = parseNoticeData(type, data);
  if (read === null || read.next === 'convert') return null;
  return new Date(read.expiresAt);
}

/** The next full hour, or the next five minutes for a warning. */
export function digestDueAt(now: Date, isWarning: boolean): Date {
  const everyMs = isWarning ? WARNING_MS : HOUR_MS;
  const [, restMs] = divideWithRemainder(now.getTime(), everyMs);
  return new Date(now.getTime() - restMs + everyMs);
}

export interface DigestedNotice {
  readonly id: NoticeId;
  readonly type: string;
  readonly data: unknown;
  readonly occurredAt: Date;
}

const subjects: Readonly<Record<NoticeCategory, string>> = {
  balance: 'your balance',
  budgets: 'your budgets',
  expiring: 'expiring rentals and instances',
  maintenance: 'maintenance',
  invoices: 'invoices',
  webhooks: 'webhooks',
  keys: 'API keys',
};

/** One line per readable notice, deletion warnings first; null if no notice is readable. */
export function digestMessage(
  category: NoticeCategory,
  notices: readonly DigestedNotice[],
): NoticeMessage | null {
  const lines = notices.flatMap(({ type, data, occurredAt }) => {
    if (!isNoticeType(type)) return [];
    const message = noticeMessageOf(type, data);
    if (message === null) return [];
    const fact = [formatInstant(occurredAt.toISOString()), message.subject] as const;
    return [{ fact, isWarning: deletionAt(type, data) !== null }];
  });
  if (lines.length === 0) return null;
  const warnings = lines.filter(({ isWarning }) => isWarning);
  const others = lines.filter(({ isWarning }) => !isWarning);
  const count = `${lines.length} more ${lines.length === 1 ? 'notice' : 'notices'}`;
  return {
    subject: `${count} about ${subjects[category]}`,
    lead:
      `There were too many notices about ${subjects[category]} to send one email for each. ` +
      `This email lists ${lines.length === 1 ? 'the one' : `the ${lines.length}`} that ${lines.length === 1 ? 'was' : 'were'} not sent separately.` +
      (warnings.length === 0 ? '' : ' Their data is deleted at the stated time.'),
    facts: [...warnings, ...others].map(({ fact }) => fact),
    advice: 'The event feed has all notices with their details.',
  };
}

/** The same notices give the same id, so that a retry after a lost response has the same Message-ID. */
export function digestIdOf(notices: readonly DigestedNotice[]): string {
  const ids = notices.map(({ id }) => toUuid(id)).toSorted();
  return createHash('sha256').update(ids.join('\n')).digest('hex').slice(0, 32);
}
