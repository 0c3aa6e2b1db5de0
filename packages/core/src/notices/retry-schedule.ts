import type { SendOutcome } from '@millrace/platform/mail';

/** When a letter is tried again, and when it is given up. Pure. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** After being put off for the first, second, … time. Servers that want to see a second attempt want it soon. */
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

/** A server that takes nothing at all is asked again this soon, however long that lasts. */
const UNAVAILABLE_MS = MINUTE_MS;

/** What could not be sent for so long is of no use to anybody any more. */
export const GIVE_UP_AFTER_MS = 72 * HOUR_MS;

export interface EmailAttempts {
  /** How often the server has put it off before. */
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
