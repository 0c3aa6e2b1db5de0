import type { Item } from '@millrace/sdk';
import { splitBy } from '@millrace/sdk/text';
import type { Filters, Sort } from './filters.ts';
import { diskText, memoryText } from '../../ui/logic/size-text.ts';

/** Groups and sorts the offers of the catalog. */

export type Offer = Item<'listRentalOptions'>;

/** Older data gets a warning. */
export const STALE_AFTER_MS = 30_000;
export const REFRESH_MS = 10_000;

export function isFree({ enabled, totalAvailable }: Pick<Offer, 'enabled' | 'totalAvailable'>): boolean {
  return enabled && totalAvailable > 0;
}

/** Hourly price per GPU. The offer price is a multiple of it, so the division is exact. */
export function perGpuNano({
  pricePerHourNanoUsd,
  gpuCount,
}: Pick<Offer, 'pricePerHourNanoUsd' | 'gpuCount'>): bigint {
  return BigInt(splitBy(Number(pricePerHourNanoUsd), gpuCount)[0]);
}

/** As `perGpuNano`, of the price in live mode; null if the offer has none, as in live mode itself. */
export function livePerGpuNano({
  livePricePerHourNanoUsd: live,
  gpuCount,
}: Pick<Offer, 'livePricePerHourNanoUsd' | 'gpuCount'>): bigint | null {
  return live === undefined ? null : perGpuNano({ pricePerHourNanoUsd: live, gpuCount });
}

/** One region and network that sells a machine type, with the sizes listed there. */
export interface OfferLocation {
  readonly region: Offer['region'];
  readonly network: Offer['connectionType'];
  readonly perGpuNano: bigint;
  readonly livePerGpuNano: bigint | null;
  /** GPUs available in machines of one of the sizes. */
  readonly gpusFree: number;
  /** False: not accepting new rentals. */
  readonly isOpen: boolean;
  /** Ascending. */
  readonly sizes: readonly Offer[];
}

/** All locations that sell one GPU type as one machine type. */
export interface OfferGroup {
  readonly id: string;
  readonly gpuType: Offer['gpuType'];
  readonly machineType: Offer['machineType'];
  readonly formFactors: readonly Offer['gpuFormFactor'][];
  readonly lowestPerGpuNano: bigint;
  readonly lowestLivePerGpuNano: bigint | null;
  readonly gpusFree: number;
  readonly regionCount: number;
  readonly spots: readonly OfferLocation[];
}

export function filterOffers(offers: readonly Offer[], filters: Filters): readonly Offer[] {
  return offers.filter(
    (offer) =>
      (filters.gpu === undefined || offer.gpuType === filters.gpu) &&
      (filters.region === undefined || offer.region === filters.region) &&
      (filters.type === undefined || offer.machineType === filters.type) &&
      (filters.count === undefined || offer.gpuCount === filters.count) &&
      (filters.available === undefined || isFree(offer)),
  );
}

function compareNano(one: bigint, other: bigint): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Available locations come first in every sort order. */
function compareLocations(sort: Sort): (one: OfferLocation, other: OfferLocation) => number {
  return (one, other) => {
    const byFree = Number(other.gpusFree > 0) - Number(one.gpusFree > 0);
    const byPrice = compareNano(one.perGpuNano, other.perGpuNano);
    const byAmount = other.gpusFree - one.gpusFree;
    const byName = compareText(`${one.region} ${one.network}`, `${other.region} ${other.network}`);
    if (sort === 'region') return byName;
    return byFree || (sort === 'free' ? byAmount || byPrice : byPrice || byAmount) || byName;
  };
}

function toOfferLocation(sizes: readonly Offer[]): OfferLocation | null {
  const sorted = sizes.toSorted((one, other) => one.gpuCount - other.gpuCount);
  const [first] = sorted;
  if (first === undefined) return null;
  return {
    region: first.region,
    network: first.connectionType,
    perGpuNano: perGpuNano(first),
    livePerGpuNano: livePerGpuNano(first),
    gpusFree: gpusFreeIn(sorted),
    isOpen: sorted.some(({ enabled }) => enabled),
    sizes: sorted,
  };
}

/** Sizes share the same GPUs, so take the maximum over sizes instead of the sum. */
function gpusFreeIn(sizes: readonly Offer[]): number {
  return Math.max(
    0,
    ...sizes.filter(isFree).map(({ totalAvailable, gpuCount }) => totalAvailable * gpuCount),
  );
}

function toOfferGroup(id: string, offers: readonly Offer[], sort: Sort): OfferGroup | null {
  const places = Map.groupBy(offers, ({ region, connectionType }) => `${region} ${connectionType}`);
  const spots = [...places.values()]
    .map(toOfferLocation)
    .filter((spot) => spot !== null)
    .toSorted(compareLocations(sort));
  const [first] = offers;
  const [cheapest] = spots.toSorted((one, other) => compareNano(one.perGpuNano, other.perGpuNano));
  if (first === undefined || cheapest === undefined) return null;
  return {
    id,
    gpuType: first.gpuType,
    machineType: first.machineType,
    formFactors: [...new Set(offers.map(({ gpuFormFactor }) => gpuFormFactor))],
    lowestPerGpuNano: cheapest.perGpuNano,
    lowestLivePerGpuNano: lowestLive(spots),
    gpusFree: spots.reduce((sum, { gpusFree }) => sum + gpusFree, 0),
    regionCount: new Set(spots.map(({ region }) => region)).size,
    spots,
  };
}

function lowestLive(spots: readonly OfferLocation[]): bigint | null {
  const prices = spots.map(({ livePerGpuNano: live }) => live).filter((live) => live !== null);
  return prices.toSorted(compareNano)[0] ?? null;
}

function compareOfferGroups(sort: Sort): (one: OfferGroup, other: OfferGroup) => number {
  return (one, other) => {
    const byFree = Number(other.gpusFree > 0) - Number(one.gpusFree > 0);
    const byPrice = compareNano(one.lowestPerGpuNano, other.lowestPerGpuNano);
    const byName = compareText(one.id, other.id);
    if (sort === 'region') return byName;
    return byFree || (sort === 'free' ? other.gpusFree - one.gpusFree : byPrice) || byName;
  };
}

export function groupOffers(offers: readonly Offer[], sort: Sort): readonly OfferGroup[] {
  return [...Map.groupBy(offers, ({ gpuType, machineType }) => `${gpuType} ${machineType}`)]
    .map(([id, members]) => toOfferGroup(id, members, sort))
    .filter((family) => family !== null)
    .toSorted(compareOfferGroups(sort));
}

/** Filter values that occur in the catalog. */
export interface FilterChoices {
  readonly gpus: readonly string[];
  readonly regions: readonly string[];
  readonly counts: readonly number[];
}

export function filterChoices(offers: readonly Offer[]): FilterChoices {
  const texts = (values: readonly string[]): readonly string[] => [...new Set(values)].toSorted(compareText);
  return {
    gpus: texts(offers.map(({ gpuType }) => gpuType)),
    regions: texts(offers.map(({ region }) => region)),
    counts: [...new Set(offers.map(({ gpuCount }) => gpuCount))].toSorted((one, other) => one - other),
  };
}

/** Headline figures for visitors. */
export interface CatalogSummary {
  /** Null: no offer has a price. */
  readonly lowestPerGpuNano: bigint | null;
  readonly gpusFree: number;
  readonly regionsWithRoom: number;
}

export function summariseCatalog(offers: readonly Offer[]): CatalogSummary {
  const free = offers.filter(isFree);
  const families = groupOffers(free, 'price');
  const [cheapest] = (free.length > 0 ? free : offers).map(perGpuNano).toSorted(compareNano);
  return {
    lowestPerGpuNano: cheapest ?? null,
    gpusFree: families.reduce((sum, { gpusFree }) => sum + gpusFree, 0),
    regionsWithRoom: new Set(free.map(({ region }) => region)).size,
  };
}

/** Age in whole seconds; never negative, even if the local clock is behind the service's. */
export function ageSeconds(asOfMs: number, nowMs: number): number {
  return splitBy(Math.max(0, nowMs - asOfMs), 1_000)[0];
}

export function hardwareText({ nodes }: Pick<Offer, 'nodes'>): string {
  const [node] = nodes;
  if (node === undefined) return '';
  const each = `${String(node.vcpuCount)} vCPU · ${memoryText(node.ramGb)} RAM · ${diskText(node.storageGb)} disk`;
  return nodes.length > 1 ? `${String(nodes.length)} nodes, each ${each}` : each;
}

/** Nominal memory of one GPU by type; offers do not have it. */
const gpuMemory: Readonly<Record<string, string>> = { h100: '80 GB', h200: '141 GB', b200: '180 GB' };

/** Nothing for a type that is not known here. */
export function gpuMemoryText(gpuType: Offer['gpuType']): string | null {
  return gpuMemory[gpuType] ?? null;
}

export function machineTypeText(machineType: Offer['machineType']): string {
  return machineType === 'bare-metal' ? 'bare metal' : 'virtual machine';
}
