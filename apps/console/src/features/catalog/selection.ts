import type { Input } from '@millrace/sdk';
import { machineTypeParam, integerParam, slugParam, type MachineType } from './filters.ts';
import { isFree, perGpuNano, type Offer } from './offers.ts';

/** The chosen rental, stored in the URL so that it can be shared as a link. */

export type Network = Offer['connectionType'];

export interface RentalSelection {
  readonly gpu?: string;
  readonly type?: MachineType;
  readonly count?: number;
  readonly region?: string;
  readonly network?: Network;
  /** Reserved term; absent for on demand. */
  readonly days?: number;
}

export function parseSelection(search: Readonly<Record<string, unknown>>): RentalSelection {
  const { network } = search;
  const gpu = slugParam(search['gpu']);
  const type = machineTypeParam(search['type']);
  const count = integerParam(search['count']);
  const region = slugParam(search['region']);
  const days = integerParam(search['days']);
  return {
    ...(gpu !== undefined && { gpu }),
    ...(type !== undefined && { type }),
    ...(count !== undefined && { count }),
    ...(region !== undefined && { region }),
    ...((network === 'ethernet' || network === 'infiniband') && { network }),
    ...(days !== undefined && { days }),
  };
}

export function selectionForOffer({
  gpuType,
  machineType,
  gpuCount,
  region,
  connectionType,
}: Offer): RentalSelection {
  return { gpu: gpuType, type: machineType, count: gpuCount, region, network: connectionType };
}

/** Everything that a price depends on. */
export interface RentalSpec {
  readonly gpu: Offer['gpuType'];
  readonly type: MachineType;
  readonly count: number;
  readonly region: Offer['region'];
  readonly network: Network;
  readonly days: number | null;
}

/** Bare metal is rented in whole nodes of this many GPUs. */
export const GPUS_PER_NODE = 8;

function compareByPrice(one: Offer, other: Offer): number {
  const difference = perGpuNano(one) - perGpuNano(other);
  if (difference === 0n) return one.gpuCount - other.gpuCount;
  return difference < 0n ? -1 : 1;
}

/**
 * Completes a selection with the cheapest available offer that matches, else the cheapest. Chosen values stay even if
 * no offer has them; the service explains why. Null: the catalog is empty.
 */
export function resolveSpec(picks: RentalSelection, offers: readonly Offer[]): RentalSpec | null {
  const fits = (offer: Offer, count: boolean): boolean =>
    (picks.gpu === undefined || offer.gpuType === picks.gpu) &&
    (picks.type === undefined || offer.machineType === picks.type) &&
    (picks.region === undefined || offer.region === picks.region) &&
    (picks.network === undefined || offer.connectionType === picks.network) &&
    // A size between two listed ones fits on the larger machine.
    (!count || picks.count === undefined || offer.gpuCount >= picks.count);
  const fitting = offers.filter((offer) => fits(offer, true));
  const near = fitting.length > 0 ? fitting : offers.filter((offer) => fits(offer, false));
  const candidates = near.length > 0 ? near : offers;
  const free = candidates.filter(isFree);
  const [best] = (free.length > 0 ? free : candidates).toSorted(compareByPrice);
  if (best === undefined) return null;
  const type = picks.type ?? best.machineType;
  return {
    gpu: (picks.gpu ?? best.gpuType) as Offer['gpuType'],
    type,
    count: picks.count ?? (type === 'bare-metal' ? Math.max(GPUS_PER_NODE, best.gpuCount) : best.gpuCount),
    region: (picks.region ?? best.region) as Offer['region'],
    network: picks.network ?? best.connectionType,
    days: picks.days ?? null,
  };
}

/** The URL form of a spec, so that changing one field keeps the others. */
export function selectionFromSpec({ gpu, type, count, region, network, days }: RentalSpec): RentalSelection {
  return { gpu, type, count, region, network, ...(days !== null && { days }) };
}

export interface SpecLocation {
  readonly value: string;
  readonly region: Offer['region'];
  readonly network: Network;
  readonly perGpuNano: bigint;
  /** Whether the chosen size is available there; a size between two listed ones counts as the larger. */
  readonly hasRoom: boolean;
  readonly isOpen: boolean;
}

const joinLocation = (region: string, network: string): string => `${region} ${network}`;

/** All locations of the GPU and machine type, cheapest first, including the chosen one even if it is not listed. */
export function locationsFor(spec: RentalSpec, offers: readonly Offer[]): readonly SpecLocation[] {
  const sold = offers.filter(({ gpuType, machineType }) => gpuType === spec.gpu && machineType === spec.type);
  const places = Map.groupBy(sold, ({ region, connectionType }) => joinLocation(region, connectionType));
  const listed = [...places].flatMap(([value, sizes]): SpecLocation[] => {
    const [first] = sizes;
    if (first === undefined) return [];
    return [
      {
        value,
        region: first.region,
        network: first.connectionType,
        perGpuNano: perGpuNano(first),
        hasRoom: sizes.some((size) => size.gpuCount >= spec.count && isFree(size)),
        isOpen: sizes.some(({ enabled }) => enabled),
      },
    ];
  });
  return listed.toSorted((one, other) => {
    const difference = one.perGpuNano - other.perGpuNano;
    if (difference === 0n) return one.value < other.value ? -1 : 1;
    return difference < 0n ? -1 : 1;
  });
}

export function locationValue({ region, network }: Pick<RentalSpec, 'region' | 'network'>): string {
  return joinLocation(region, network);
}

/** The sizes listed at the chosen location, ascending. */
export function sizesFor(spec: RentalSpec, offers: readonly Offer[]): readonly Offer[] {
  return offers
    .filter(
      (offer) =>
        offer.gpuType === spec.gpu &&
        offer.machineType === spec.type &&
        offer.region === spec.region &&
        offer.connectionType === spec.network,
    )
    .toSorted((one, other) => one.gpuCount - other.gpuCount);
}

export function countIssue({ type, count }: Pick<RentalSpec, 'type' | 'count'>): string | null {
  if (!Number.isInteger(count) || count < 1) return 'Enter a whole number of GPUs, 1 or more.';
  if (type === 'bare-metal' && count % GPUS_PER_NODE !== 0) {
    return `Bare metal comes in whole nodes of ${String(GPUS_PER_NODE)} GPUs. Enter 8, 16, 24 and so on.`;
  }
  return null;
}

export type QuoteRequest = Input<'quoteRental'>;

export function toQuoteRequest(spec: RentalSpec): QuoteRequest {
  return {
    rentalType: spec.type,
    gpuCount: spec.count,
    gpuType: spec.gpu,
    region: spec.region,
    networkType: spec.network,
    ...(spec.days !== null && { termType: 'reserved' as const, termPeriodDays: spec.days }),
  };
}
