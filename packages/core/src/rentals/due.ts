import type { Meter } from '../metering/index.ts';
import type { RentalView } from './rental.ts';
import { afterCurrentTerm, capReachedAt, keptDisk, reservedUntil } from './terms.ts';

/** What the clock asks of a rental next. Pure. */

/** Why a rental ends without anybody asking for it now. */
export type EndCause = 'term' | 'ttl' | 'cap';

export type Due =
  /** Tell the tenant that an end is near. */
  | { readonly what: 'notice'; readonly at: Date; readonly end: NearEnd }
  /** The next term begins, or the rental goes on without one. */
  | { readonly what: 'extend' | 'convert'; readonly at: Date }
  | { readonly what: 'terminate'; readonly at: Date; readonly because: EndCause }
  /** The money that was set aside for keeping its disk has been used up. */
  | { readonly what: 'retention'; readonly at: Date };

export interface NearEnd {
  readonly at: Date;
  readonly cause: 'term' | 'ttl' | 'balance' | 'budget';
  readonly next: 'convert' | 'terminate';
}

const HOUR_MS = 3_600_000;

/** How long before an end it is told. */
export const noticeLeadsMs: readonly number[] = [24 * HOUR_MS, HOUR_MS];

/** The next thing that is due, the soonest first; null: nothing that is known of. It may lie in the past. */
export function nextDue(view: RentalView, meters: readonly Meter[], now: Date): Due | null {
  const { status } = view.rental;
  if (status !== 'Pending' && status !== 'Running' && status !== 'Unknown') return null;
  const dues = [...endsOf(view, meters), ...noticeOf(view, meters, now)];
  // Of several at one instant an end counts, for it makes the others pointless.
  const weight = (due: Due): number => (due.what === 'terminate' ? 0 : 1);
  return (
    dues.toSorted((one, other) => one.at.getTime() - other.at.getTime() || weight(one) - weight(other))[0] ??
    null
  );
}

function endsOf(view: RentalView, meters: readonly Meter[]): readonly Due[] {
  const { rental } = view;
  const ends: Due[] = [];
  if (rental.expiresAt !== null) ends.push({ what: 'terminate', at: rental.expiresAt, because: 'ttl' });
  if (rental.status === 'Pending') return ends;
  const until = reservedUntil(view.terms);
  if (until !== null) {
    const next = afterCurrentTerm(view);
    ends.push(next === 'terminate' ? { what: next, at: until, because: 'term' } : { what: next, at: until });
  }
  const cap = capReachedAt(rental, meters);
  if (cap !== null) ends.push({ what: 'terminate', at: cap, because: 'cap' });
  const kept = keptDisk(meters);
  if (kept !== null) ends.push({ what: 'retention', at: kept.termEndsAt });
  return ends;
}

/** Ends that are told beforehand. A term that is followed by another is none, and a limit is reached without a date. */
function nearEnds(view: RentalView, meters: readonly Meter[]): readonly NearEnd[] {
  const { rental, terms } = view;
  const ends: NearEnd[] = [];
  if (rental.expiresAt !== null) ends.push({ at: rental.expiresAt, cause: 'ttl', next: 'terminate' });
  const until = reservedUntil(terms);
  const next = afterCurrentTerm(view);
  if (until !== null && next !== 'extend') ends.push({ at: until, cause: 'term', next });
  const kept = keptDisk(meters);
  const cause = rental.taskOptions.because === 'budget' ? 'budget' : 'balance';
  if (kept !== null) ends.push({ at: kept.termEndsAt, cause, next: 'terminate' });
  return ends;
}

/**
 * The next notice of the end that comes first. Which was told last is known by the instant at which it was due, so each
 * is told once, an end that moved away is told again, and of several that were missed only the last is made up for.
 */
function noticeOf(view: RentalView, meters: readonly Meter[], now: Date): readonly Due[] {
  const { rental } = view;
  if (rental.status === 'Pending' || rental.startedAt === null) return [];
  const [end] = nearEnds(view, meters).toSorted((one, other) => one.at.getTime() - other.at.getTime());
  if (end === undefined || end.at <= now) return [];
  const sinceMs = Math.max(rental.startedAt.getTime(), rental.toldExpiringAt?.getTime() ?? 0);
  const untold = noticeLeadsMs
    .map((leadMs) => end.at.getTime() - leadMs)
    .filter((atMs) => atMs > sinceMs)
    .toSorted((one, other) => one - other);
  const atMs = untold.findLast((ms) => ms <= now.getTime()) ?? untold[0];
  return atMs === undefined ? [] : [{ what: 'notice', at: new Date(atMs), end }];
}
