import type { Item } from '@millrace/sdk';
import { usdToNano } from '@millrace/sdk/text';
import { rentalBilling, type Billing } from '../rentals/billing.ts';
import type { RestoreStatus } from '../volumes/restore-status.ts';
import { volumePhase, type Phase } from '../volumes/volume.ts';

/** Computes the hourly cost of each active resource. */

export interface RunningCost {
  readonly key: string;
  readonly kind: 'Rental' | 'Volume' | 'Instance';
  readonly name: string;
  readonly to: string;
  readonly perHour: bigint;
  /** Test mode: the cost in live mode; null if unknown. */
  readonly livePerHour: bigint | null;
  /** Rentals: the price per hour while it runs, if another price is billed now. */
  readonly whileRunning?: Billing['whileRunning'];
  /** Explains the cost if it is not obvious. */
  readonly note: string | null;
  /** Paid from money that is held for the whole reserved term, so not part of the burn rate. */
  readonly isPrepaid?: true;
}

type Rental = Parameters<typeof rentalBilling>[0] & Pick<Item<'listRentals'>, 'id' | 'name' | 'label'>;
type Volume = Pick<
  Item<'listStorageVolumes'>,
  'id' | 'label' | 'status' | 'costPerHour' | 'startedAt' | 'terminatedAt'
> & {
  readonly restoring?: RestoreStatus;
  /** Test mode: the price in live mode, which the list of volumes does not have. */
  readonly liveCostPerHourNanoUsd?: string | undefined;
};
type Instance = Pick<Item<'listMarketplaceInstances'>, 'id'> & {
  readonly instance: Pick<Item<'listMarketplaceInstances'>['instance'], 'gpu_count' | 'pricing' | 'status'>;
};

export function rentalCost(rental: Rental): RunningCost {
  const { id, name, label } = rental;
  const { perHour, livePerHour, whileRunning, words, isPrepaid } = rentalBilling(rental);
  return {
    key: `rental-${String(id)}`,
    kind: 'Rental',
    name: name ?? label ?? `Rental ${String(id)}`,
    to: `/rentals/${String(id)}`,
    perHour,
    livePerHour,
    whileRunning,
    note: words,
    ...(isPrepaid && { isPrepaid }),
  };
}

const notYetBilled = 'not billed until ready';

const volumeNotes: Readonly<Record<Phase, string | null>> = {
  creating: notYetBilled,
  active: null,
  restoring: 'billed while a snapshot is restored',
  frozen: 'frozen: paid from money held for it',
  deleted: 'deleted: retention is paid from money held for it',
  unknown: 'storage server does not respond; keeps billing',
};

export function volumeCost(volume: Volume): RunningCost {
  const { id, label, costPerHour, liveCostPerHourNanoUsd: live } = volume;
  const phase = volumePhase(volume);
  // A restore may target a new volume or one that is already billed.
  const isNew = phase === 'creating' || (phase === 'restoring' && volume.startedAt === null);
  return {
    key: `volume-${String(id)}`,
    kind: 'Volume',
    name: label,
    to: `/volumes/${String(id)}`,
    perHour: isNew ? 0n : usdToNano(costPerHour),
    livePerHour: isNew || live === undefined ? null : BigInt(live),
    note: isNew ? notYetBilled : volumeNotes[phase],
  };
}

const billedInstances: ReadonlySet<string> = new Set(['online', 'offline']);

/** Test mode lists machine prices but charges nothing. */
export function instanceCost({ id, instance }: Instance, mode: 'live' | 'test'): RunningCost {
  const isBilled = billedInstances.has(instance.status);
  const listed = usdToNano(instance.pricing.price.amount) * BigInt(instance.gpu_count);
  const isTest = mode === 'test';
  return {
    key: `instance-${id}`,
    kind: 'Instance',
    name: id,
    to: `/instances/${encodeURIComponent(id)}`,
    perHour: isBilled && !isTest ? listed : 0n,
    livePerHour: isBilled && isTest ? listed : null,
    note: isBilled ? null : `not billed while ${instance.status}`,
  };
}

export function mostExpensiveFirst<Cost extends Pick<RunningCost, 'perHour' | 'livePerHour'>>(
  costs: readonly Cost[],
): readonly Cost[] {
  const rank = ({ perHour, livePerHour }: Cost): bigint => livePerHour ?? perHour;
  return costs.toSorted((a, b) => (rank(a) === rank(b) ? 0 : rank(a) < rank(b) ? 1 : -1));
}
