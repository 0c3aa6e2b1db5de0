import { addUsd, affordableMs, divideRoundDown, nanoUsd, zeroUsd } from '@millrace/platform/money';
import { costAt, type Meter } from '../../metering/index.ts';
import { RETENTION_MS, RETENTION_DIVISOR, type VolumePolicy } from '../model/policy.ts';
import type { Snapshot, Volume } from '../model/volume.ts';

/** What the clock asks of a volume. Pure: the same rows give the same answers. */

/** When the limit of a volume ends it: nobody uses it from `leaveAt` on, and its data goes at `endsAt`. */
export interface SpendingLimitEnd {
  readonly leaveAt: Date;
  readonly endsAt: Date;
}

/**
 * The last millisecond at which a volume has not cost more than its limit, and when it must be left so that its data can be
 * kept until then. Null: it has no limit, or nothing runs that could reach it.
 */
export function spendingLimitEnd(
  volume: Pick<Volume, 'maxNanoUsd' | 'startedAt'>,
  meters: readonly Meter[],
): SpendingLimitEnd | null {
  const { maxNanoUsd: cap, startedAt } = volume;
  const running = meters.filter((meter) => meter.runningSince !== null && meter.termEndsAt === null);
  const perHour = addUsd(zeroUsd, ...running.map(({ ratePerHour }) => ratePerHour));
  if (cap === null || startedAt === null || perHour === 0n) return null;
  const costBy = (ms: number): bigint =>
    addUsd(zeroUsd, ...meters.map((meter) => costAt(meter, meter.termEndsAt ?? new Date(ms))));
  const sinceMs = Math.max(...running.map(({ runningSince }) => runningSince?.getTime() ?? 0));
  const left = cap - costBy(sinceMs);
  if (left < 0n) return { leaveAt: new Date(sinceMs), endsAt: new Date(sinceMs) };
  // Each meter is rounded down by itself, so together they can be that many nano-USD below their sum.
  const mostMs = Number(affordableMs(nanoUsd(left + BigInt(running.length)), perHour) ?? 0n) + 1;
  let within = 0;
  let beyond = Math.min(mostMs, LAST_INSTANT_MS - sinceMs);
  while (beyond - within > 1) {
    const middle = within + Math.trunc((beyond - within) * HALF);
    if (costBy(sinceMs + middle) <= cap) within = middle;
    else beyond = middle;
  }
  const endsMs = sinceMs + within;
  const part = Number(divideRoundDown(BigInt(Math.max(0, endsMs - startedAt.getTime())), RETENTION_DIVISOR));
  return { leaveAt: new Date(endsMs - Math.min(RETENTION_MS, part)), endsAt: new Date(endsMs) };
}

const HALF = 0.5;
const LAST_INSTANT_MS = Date.UTC(9999, 11, 31);

/** What must be done to a volume by its times alone, the first that counts; null: nothing yet. */
export type VolumeDueAction =
  | { readonly what: 'give up making it' }
  | { readonly what: 'give up growing' }
  /** `lateMs`: for so long no worker looked. The data is kept for that much longer than it is paid for. */
  | { readonly what: 'leave'; readonly purgeAt: Date; readonly lateMs: number }
  /** The money that was set aside for keeping it has been used up, unless there is more by now. */
  | { readonly what: 'pay again or purge'; readonly at: Date }
  | { readonly what: 'purge'; readonly at: Date }
  | { readonly what: 'pay again' };

export function volumeDueAction(
  volume: Volume,
  cap: SpendingLimitEnd | null,
  now: Date,
  policy: Pick<VolumePolicy, 'provisionMs'>,
): VolumeDueAction | null {
  const { phase, purgeAt, growth } = volume;
  switch (phase) {
    case 'provisioning':
      return now.getTime() >= volume.createdAt.getTime() + policy.provisionMs
        ? { what: 'give up making it' }
        : null;
    case 'live':
      if (cap !== null && cap.leaveAt <= now) {
        const lateMs = now.getTime() - cap.leaveAt.getTime();
        return { what: 'leave', purgeAt: cap.endsAt, lateMs };
      }
      return growth !== null && growth.by <= now ? { what: 'give up growing' } : null;
    case 'frozen':
      return purgeAt !== null && purgeAt <= now
        ? { what: 'pay again or purge', at: purgeAt }
        : { what: 'pay again' };
    case 'leaving':
      return purgeAt !== null && purgeAt <= now ? { what: 'purge', at: purgeAt } : null;
    case 'purging':
    case 'purged':
      return null;
  }
}

/** When a volume must be looked at next, if nothing happens to it before. */
export function nextVolumeCheckAt(
  volume: Volume,
  cap: SpendingLimitEnd | null,
  snapshots: readonly Pick<Snapshot, 'status' | 'makeBy'>[],
  now: Date,
  policy: VolumePolicy,
): Date {
  const { phase, purgeAt, growth, restore } = volume;
  const times = [
    now.getTime() + (phase === 'frozen' ? policy.thawMs : policy.checkUpMs),
    ...(phase === 'provisioning' ? [volume.createdAt.getTime() + policy.provisionMs] : []),
    ...(phase === 'frozen' || phase === 'leaving' ? [purgeAt?.getTime() ?? now.getTime()] : []),
    ...(phase === 'live' && cap !== null ? [cap.leaveAt.getTime()] : []),
    ...(growth === null ? [] : [growth.by.getTime()]),
    ...(restore === null || restore.by <= now ? [] : [restore.by.getTime()]),
    ...snapshots.filter(({ status }) => status === 'creating').map(({ makeBy }) => makeBy.getTime()),
  ];
  return new Date(Math.max(now.getTime(), Math.min(...times)));
}

/** How long to wait after so many failures in a row. */
export function volumeRetryMs(
  tries: number,
  { firstRetryMs, longestRetryMs }: Pick<VolumePolicy, 'firstRetryMs' | 'longestRetryMs'>,
): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(tries, 20));
}
