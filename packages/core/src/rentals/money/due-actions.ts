import { limitReachedAt, type Meter } from '../../metering/index.ts';
import type { RentalView } from '../model/rental.ts';
import { actionAfterCurrentTerm, retainedDiskMeter, reservedUntil } from './terms.ts';

/** Computes the next due action of a rental from its terms, limits, meters and the time. Pure. */

export type TerminationCause = 'term' | 'ttl' | 'cap';

export type DueAction =
  /** Notify the tenant of an end. */
  | { readonly what: 'notice'; readonly at: Date; readonly end: UpcomingEnd }
  /** Start the next term, or continue on demand. */
  | { readonly what: 'extend' | 'convert'; readonly at: Date }
  | { readonly what: 'terminate'; readonly at: Date; readonly because: TerminationCause }
  /** The money held for the retention of the disk is spent. */
  | { readonly what: 'retention'; readonly at: Date };

export interface UpcomingEnd {
  readonly at: Date;
  readonly cause: 'term' | 'ttl' | 'balance' | 'budget';
  readonly next: 'convert' | 'terminate';
}

const HOUR_MS = 3_600_000;

export const noticeLeadTimesMs: readonly number[] = [24 * HOUR_MS, HOUR_MS];

/** The earliest due action, possibly in the past; null if there is none. */
export function nextDueAction(view: RentalView, meters: readonly Meter[], now: Date): DueAction | null {
  const { status } = view.rental;
  if (status !== 'Pending' && status !== 'Running' && status !== 'Unknown') return null;
  const dues = [...dueEndsOf(view, meters), ...dueNotices(view, meters, now)];
  // At the same instant termination comes first, because it makes the other actions pointless.
  const weight = (due: DueAction): number => (due.what === 'terminate' ? 0 : 1);
  return (
    dues.toSorted((one, other) => one.at.getTime() - other.at.getTime() || weight(one) - weight(other))[0] ??
    null
  );
}

function dueEndsOf(view: RentalView, meters: readonly Meter[]): readonly DueAction[] {
  const { rental } = view;
  const ends: DueAction[] = [];
  if (rental.expiresAt !== null) ends.push({ what: 'terminate', at: rental.expiresAt, because: 'ttl' });
  if (rental.status === 'Pending') return ends;
  const until = reservedUntil(view.terms);
  if (until !== null) {
    const next = actionAfterCurrentTerm(view);
    ends.push(next === 'terminate' ? { what: next, at: until, because: 'term' } : { what: next, at: until });
  }
  const cap = limitReachedAt(meters, rental.maxNanoUsd);
  if (cap !== null) ends.push({ what: 'terminate', at: cap, because: 'cap' });
  const retained = retainedDiskMeter(meters);
  if (retained !== null) ends.push({ what: 'retention', at: retained.termEndsAt });
  return ends;
}

/** Ends with a notice. Excludes terms that another term follows, and the spending limit, whose date changes. */
function upcomingEnds(view: RentalView, meters: readonly Meter[]): readonly UpcomingEnd[] {
  const { rental, terms } = view;
  const ends: UpcomingEnd[] = [];
  if (rental.expiresAt !== null) ends.push({ at: rental.expiresAt, cause: 'ttl', next: 'terminate' });
  const until = reservedUntil(terms);
  const next = actionAfterCurrentTerm(view);
  if (until !== null && next !== 'extend') ends.push({ at: until, cause: 'term', next });
  const retained = retainedDiskMeter(meters);
  const cause = rental.taskOptions.because === 'budget' ? 'budget' : 'balance';
  if (retained !== null) ends.push({ at: retained.termEndsAt, cause, next: 'terminate' });
  return ends;
}

/**
 * The next notice of the earliest end. `expiryNotifiedAt` stores the time at which the last notice was due. So each notice is
 * sent once, an end moved to later is announced again, and only the latest of several missed notices is sent.
 */
function dueNotices(view: RentalView, meters: readonly Meter[], now: Date): readonly DueAction[] {
  const { rental } = view;
  if (rental.status === 'Pending' || rental.startedAt === null) return [];
  const [end] = upcomingEnds(view, meters).toSorted((one, other) => one.at.getTime() - other.at.getTime());
  if (end === undefined || end.at <= now) return [];
  const sinceMs = Math.max(rental.startedAt.getTime(), rental.expiryNotifiedAt?.getTime() ?? 0);
  const unsent = noticeLeadTimesMs
    .map((leadMs) => end.at.getTime() - leadMs)
    .filter((atMs) => atMs > sinceMs)
    .toSorted((one, other) => one - other);
  const atMs = unsent.findLast((ms) => ms <= now.getTime()) ?? unsent[0];
  return atMs === undefined ? [] : [{ what: 'notice', at: new Date(atMs), end }];
}
