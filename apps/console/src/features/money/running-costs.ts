import type { Item } from '@millrace/sdk';
import { nanoOfNumber } from '@millrace/sdk/text';

/** What is there now and what each thing costs in an hour. */

export interface RunningCost {
  readonly key: string;
  readonly kind: 'Rental' | 'Volume' | 'Instance';
  readonly name: string;
  readonly to: string;
  readonly perHour: bigint;
  /** Why it costs what it costs, where that is not plain. */
  readonly note: string | null;
}

type Rental = Pick<
  Item<'listRentals'>,
  'id' | 'name' | 'label' | 'status' | 'gpuHeld' | 'billingPausedAt' | 'releasedCostPerHourNanoUsd'
> & { readonly currentTerm: Pick<Item<'listRentals'>['currentTerm'], 'termType' | 'costPerHour'> };
type Volume = Pick<Item<'listStorageVolumes'>, 'id' | 'label' | 'status' | 'costPerHour'>;
type Instance = Pick<Item<'listMarketplaceInstances'>, 'id' | 'start'> & {
  readonly instance: Pick<Item<'listMarketplaceInstances'>['instance'], 'gpu_count' | 'pricing'>;
};

export function rentalCost(rental: Rental): RunningCost {
  const { id, name, label, status } = rental;
  const base = {
    key: `rental-${String(id)}`,
    kind: 'Rental',
    name: name ?? label ?? `Rental ${String(id)}`,
    to: `/rentals/${String(id)}`,
  } as const;
  if (rental.billingPausedAt !== null) {
    return { ...base, perHour: 0n, note: 'not billed while its machine is not there for you' };
  }
  if (status === 'Pending') return { ...base, perHour: 0n, note: 'not billed before it runs' };
  if (status !== 'Running' && status !== 'Unknown') return { ...base, perHour: 0n, note: 'no longer billed' };
  if (!rental.gpuHeld) {
    return {
      ...base,
      perHour: BigInt(rental.releasedCostPerHourNanoUsd ?? '0'),
      note: 'stopped, its disk is kept',
    };
  }
  const reserved = rental.currentTerm.termType === 'reserved';
  return {
    ...base,
    perHour: nanoOfNumber(rental.currentTerm.costPerHour),
    note: reserved ? 'reserved: the money for the whole term is set aside' : null,
  };
}

export function volumeCost({ id, label, status, costPerHour }: Volume): RunningCost {
  const isActive = status === 'active';
  return {
    key: `volume-${String(id)}`,
    kind: 'Volume',
    name: label,
    to: `/volumes/${String(id)}`,
    perHour: nanoOfNumber(costPerHour),
    note: isActive ? null : `${status}: kept out of what was set aside for it`,
  };
}

export function instanceCost({ id, start, instance }: Instance): RunningCost {
  const started = start !== null;
  const perGpu = nanoOfNumber(instance.pricing.price.amount);
  return {
    key: `instance-${id}`,
    kind: 'Instance',
    name: id,
    to: `/instances/${encodeURIComponent(id)}`,
    perHour: started ? perGpu * BigInt(instance.gpu_count) : 0n,
    note: started ? null : 'not billed before it runs',
  };
}

/** The dearest first. */
export function dearestFirst(costs: readonly RunningCost[]): readonly RunningCost[] {
  return costs.toSorted((a, b) => (a.perHour === b.perHour ? 0 : a.perHour < b.perHour ? 1 : -1));
}
