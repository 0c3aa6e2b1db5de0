import type { ApiKeyLimits, Body, Contract } from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import { formatUsd, secondsToMs, type NanoUsd } from '@millrace/platform/money';
import { keyLimitExceeded, requireMaxUsd } from '../../volumes/index.ts';
import { requireLabel } from '../order/order.ts';
import type { Rental } from '../model/rental.ts';
import type { RentalChanges } from '../model/rentals.store.ts';

/** What a tenant may change of a rental that goes on, and what may stand against it. Pure. */

export type RentalUpdate = Body<Contract['operations']['updateRental']>;

/** The changes that an update asks for, as of now. Only what it names is in them. */
export function toRentalChanges(update: RentalUpdate, now: Date): RentalChanges {
  const { name, label, tags, convertToOnDemandOnExpiry: convertOnExpiry, ttlSeconds, maxUsd, idle } = update;
  return {
    ...(name === undefined ? {} : { name }),
    ...(label === undefined ? {} : { label: label === null ? null : requireLabel(label) }),
    ...(tags === undefined ? {} : { tags }),
    ...(convertOnExpiry === undefined ? {} : { convertOnExpiry }),
    ...(ttlSeconds === undefined
      ? {}
      : { expiresAt: ttlSeconds === null ? null : addSeconds(now, ttlSeconds) }),
    ...(maxUsd === undefined ? {} : { maxNanoUsd: maxUsd === null ? null : requireMaxUsd(maxUsd) }),
    ...(idle === undefined ? {} : { idle }),
  };
}

const addSeconds = (now: Date, seconds: number): Date => new Date(now.getTime() + secondsToMs(seconds));

const reconciledFields = ['convertOnExpiry', 'expiresAt', 'maxNanoUsd', 'idle'] as const;

/** Whether somebody must look when the rental ends by itself now. A new name needs nobody. */
export function changesEnd(changes: RentalChanges): boolean {
  return reconciledFields.some((field) => field in changes);
}

/**
 * A key that bounds how long rentals may last cannot make one last longer than that, counted from when it was accepted,
 * however often it asks. It may always make one end sooner.
 */
export function requireTtlWithinKeyLimit(
  rental: Pick<Rental, 'createdAt' | 'expiresAt'>,
  expiresAt: Date | null,
  { maxRentalSeconds: longest }: Pick<ApiKeyLimits, 'maxRentalSeconds'>,
): void {
  if (longest === null) return;
  const wanted = expiresAt?.getTime() ?? Infinity;
  const present = rental.expiresAt?.getTime() ?? Infinity;
  if (wanted <= Math.max(addSeconds(rental.createdAt, longest).getTime(), present) && wanted !== Infinity)
    return;
  throw keyLimitExceeded('maxRentalSeconds', `Rentals of this API key may last ${longest} seconds at most.`);
}

/** A limit that is passed already would end the rental at once: whoever wants that says so. */
export function requireLimitAboveCost(maxNanoUsd: NanoUsd | null, cost: NanoUsd): void {
  if (maxNanoUsd === null || maxNanoUsd > cost) return;
  throw new Fault('VALIDATION_FAILED', {
    issues: [
      {
        message: `must be more than the ${formatUsd(cost)} USD that it has cost already; terminate it to end it now`,
        path: ['maxUsd'],
        code: 'too_small',
      },
    ],
  });
}
