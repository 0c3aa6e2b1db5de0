import { divideRoundDown } from '@millrace/platform/money';
import {
  costIfEndedAt,
  limitReachedAt,
  RETENTION_DIVISOR,
  RETENTION_MS,
  type Meter,
} from '../../metering/index.ts';
import type { VolumePolicy } from '../model/policy.ts';
import type { Snapshot, Volume } from '../model/volume.ts';

/** When the spending limit ends a volume: unusable from `leaveAt`, purged at `endsAt`. */
export interface SpendingLimitEnd {
  readonly leaveAt: Date;
  readonly endsAt: Date;
}

/**
 * `endsAt` is the last millisecond within the limit; `leaveAt` leaves enough of the limit to retain the data until
 * then. Null without a limit, or if no running meter can reach it.
 */
export function spendingLimitEnd(
  volume: Pick<Volume, 'maxNanoUsd' | 'startedAt'>,
  meters: readonly Meter[],
): SpendingLimitEnd | null {
  const { maxNanoUsd: cap, startedAt } = volume;
  const endsAt = limitReachedAt(meters, cap);
  if (cap === null || startedAt === null || endsAt === null) return null;
  if (costIfEndedAt(meters, endsAt) > cap) return { leaveAt: endsAt, endsAt };
  const usedMs = Math.max(0, endsAt.getTime() - startedAt.getTime());
  const part = Number(divideRoundDown(BigInt(usedMs), RETENTION_DIVISOR));
  return { leaveAt: new Date(endsAt.getTime() - Math.min(RETENTION_MS, part)), endsAt };
}

/** The first action that is due by time; null if none is. */
export type VolumeDueAction =
  | { readonly what: 'give up making it' }
  | { readonly what: 'give up growing' }
  /** `lateMs`: how long no worker ran. The data is kept that much longer without charge. */
  | { readonly what: 'leave'; readonly purgeAt: Date; readonly lateMs: number }
  /** The money held for the retention is used up, unless the wallet can pay again. */
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

/** When the volume must be checked next if nothing else happens. */
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
