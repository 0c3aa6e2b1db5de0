import type { SendOutcome } from '@millrace/platform/mail';

/** Decides when an email is retried and when retries stop. Pure. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** After the first, second, … temporary rejection. Greylisting servers expect an early second attempt. */
const retryDelaysMs = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
] as const;

/** How soon to retry a server that accepts no email at all. */
const UNAVAILABLE_MS = MINUTE_MS;

/** Older emails are no longer useful. */
export const GIVE_UP_AFTER_MS = 72 * HOUR_MS;

export interface EmailAttempts {
  /** Earlier temporary rejections. */
  readonly attempts: number;
  readonly createdAt: Date;
}

export type EmailOutcome =
  | { readonly state: 'sent' }
  | { readonly state: 'refused' | 'given_up' | 'skipped'; readonly reason: string }
  | {
      readonly state: 'waiting';
      readonly attempts: number;
      readonly nextAttemptAt: Date;
      readonly reason: string;
    };

export function emailOutcomeOf(
  outcome: SendOutcome,
  { attempts, createdAt }: EmailAttempts,
  now: Date,
): EmailOutcome {
  if (outcome.kind === 'sent') return { state: 'sent' };
  const { kind, reason } = outcome;
  if (kind === 'refused') return { state: 'refused', reason };
  const isOld = now.getTime() - createdAt.getTime() >= GIVE_UP_AFTER_MS;
  const delayMs = kind === 'unavailable' ? UNAVAILABLE_MS : retryDelaysMs[attempts];
  if (isOld || delayMs === undefined) return { state: 'given_up', reason };
  return {
    state: 'waiting',
    attempts: kind === 'deferred' ? attempts + 1 : attempts,
    nextAttemptAt: new Date(now.getTime() + delayMs),
    reason,
  };
}
