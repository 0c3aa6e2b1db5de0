import type { ApiKeyLimits, Body, Contract } from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import { formatUsd, secondsToMs, type NanoUsd } from '@millrace/platform/money';
import { keyLimitExceeded, requireMaxUsd } from '../../volumes/index.ts';
import { requireLabel } from '../order/order.ts';
import type { Rental } from '../model/rental.ts';
import type { RentalChanges } from '../model/rentals.store.ts';

/** Converts and validates the changes that a tenant requests for a rental. Pure. */

export type RentalUpdate = Body<Contract['operations']['updateRental']>;

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

/** Whether the rental must be reconciled because its end may have moved. */
export function changesEnd(changes: RentalChanges): boolean {
  return reconciledFields.some((field) => field in changes);
}

/** Repeated requests of a key cannot extend a rental beyond the key's maximum duration, counted from creation. */
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
  throw keyLimitExceeded(
    'maxRentalSeconds',
    `This API key limits rentals to ${longest} seconds. Use an earlier end or another key.`,
  );
}

/** A limit below the present cost would end the rental at once, which the tenant must request explicitly. */
export function requireLimitAboveCost(maxNanoUsd: NanoUsd | null, cost: NanoUsd): void {
  if (maxNanoUsd === null || maxNanoUsd > cost) return;
  throw new Fault('VALIDATION_FAILED', {
    issues: [
      {
        message: `must exceed the ${formatUsd(cost)} USD that the rental has already cost; to end it now, terminate it`,
        path: ['maxUsd'],
        code: 'too_small',
      },
    ],
  });
}
