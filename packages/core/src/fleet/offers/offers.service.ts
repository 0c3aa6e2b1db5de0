import { type Body, type Contract, type GpuType, type Region } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import { timesUsd, type NanoUsd } from '@millrace/platform/money';
import {
  createGpuPriceLookup,
  readAllReserveOptions,
  type GpuPriceLookup,
  type MachineType,
} from '../../prices/index.ts';
import {
  findAlternatives,
  earliestFitAt,
  assessPlacement,
  roundUpToMinute,
  type Alternative,
  type PlacementAssessment,
  type PlacementQuery,
} from './placement-explanation.ts';
import { readCapacityChanges, readNodeFacts } from './placement-explanation.store.ts';
import {
  parseCudaRequirement,
  isHardwareStale,
  isRentableRegion,
  minDiskOf,
  offersOf,
  poolsOf,
  nodeLayoutOf,
  type Hardware,
  type Pool,
  type PoolKey,
  type RentalOffer,
} from './offers.ts';
import { readAvailability, readHardware } from './offers.store.ts';
import { OBSERVATION_MAX_AGE_MS } from '../placement/placement.service.ts';
import { SingleFlightCache } from './single-flight-cache.ts';
import { listReserveOffers, type ReserveOffer } from './reserve-offers.ts';

/** Computes offers and explanations for tenants from the rows that placement uses. */

/** Each process queries the database at most once in this time, for any number of callers. */
export const OFFERS_MAX_AGE_MS = 1_000;

/** Hardware is also read again as soon as a free node is not part of it. */
const HARDWARE_MAX_AGE_MS = 60_000;

/** A rental overdue by less than this counts as ending now; one overdue for longer is ignored. */
const OVERDUE_END_TOLERANCE_MS = 10 * 60_000;

const ALTERNATIVES_SHOWN = 20;

export interface OfferFilter {
  readonly gpuType?: GpuType | undefined;
  readonly region?: Region | undefined;
  readonly machineType?: MachineType | undefined;
}

/** Determines prices and visible pools. */
export interface Requester {
  /** Null: somebody who has not signed in and is shown list prices. */
  readonly orgId: OrgId | null;
  readonly mode: Mode;
}

export interface PricedOffer extends RentalOffer {
  readonly costPerHour: NanoUsd;
  /** In test mode, the price in live mode. Null in live mode, or if live mode has no price. */
  readonly liveCostPerHour: NanoUsd | null;
}

export interface PricedAlternative extends Alternative {
  readonly costPerHour: NanoUsd;
}

export interface Explanation extends PlacementAssessment {
  /** Null if the price list has no price. */
  readonly costPerHour: NanoUsd | null;
  readonly capacityExpectedAt: Date | null;
  readonly alternatives: readonly PricedAlternative[];
}

export type PlacementBody = Body<Contract['operations']['explainPlacement']>;

interface OfferSnapshot {
  readonly pools: readonly Pool[];
  readonly offers: readonly RentalOffer[];
}

export class OfferService {
  readonly #db: Db;
  readonly #hardware: SingleFlightCache<Hardware>;
  readonly #snapshot: SingleFlightCache<OfferSnapshot>;

  constructor({ db, clock }: { readonly db: Db; readonly clock: Timer }) {
    this.#db = db;
    this.#hardware = new SingleFlightCache(clock, () => readHardware(db));
    this.#snapshot = new SingleFlightCache(clock, () => this.#load());
  }

  /** Offers without a price are left out. */
  async rentalOffers({ orgId, mode }: Requester, filter: OfferFilter): Promise<readonly PricedOffer[]> {
    const now = this.#db.clock.now();
    const [{ offers }, priceOf, livePriceOf] = await Promise.all([
      this.#snapshot.get(OFFERS_MAX_AGE_MS),
      createGpuPriceLookup(this.#db, orgId, mode, now),
      mode === 'test' ? createGpuPriceLookup(this.#db, orgId, 'live', now) : null,
    ]);
    return offers
      .filter((offer) => offer.mode === mode && matchesFilter(offer, filter))
      .flatMap((offer) => {
        const costPerHour = hourlyPriceOf(priceOf, offer, offer.gpuCount);
        const liveCostPerHour =
          livePriceOf === null ? null : hourlyPriceOf(livePriceOf, offer, offer.gpuCount);
        return costPerHour === null ? [] : { ...offer, costPerHour, liveCostPerHour };
      });
  }

  /** Newest first. */
  async reserveOffers({ orgId, mode }: Requester, filter: OfferFilter): Promise<readonly ReserveOffer[]> {
    const [{ pools }, priceOf, options] = await Promise.all([
      this.#snapshot.get(OFFERS_MAX_AGE_MS),
      createGpuPriceLookup(this.#db, orgId, mode, this.#db.clock.now()),
      readAllReserveOptions(this.#db),
    ]);
    const own = pools.filter((pool) => pool.mode === mode && matchesFilter(pool, filter));
    return listReserveOffers(options, own, priceOf);
  }

  /** Reads the nodes again for each call; only the alternatives come from the cached offers. */
  async explain({ orgId, mode }: Requester, body: PlacementBody): Promise<Explanation> {
    const request = toPlacementQuery(mode, body);
    const shape = nodeLayoutOf(request.machineType, request.gpuCount);
    const now = this.#db.clock.now();
    const watchedSince = observedSinceAt(now);
    const [facts, priceOf] = await Promise.all([
      readNodeFacts(this.#db, request, { watchedSince, byFabric: shape !== null && shape.nodeCount > 1 }),
      createGpuPriceLookup(this.#db, orgId, mode, now),
    ]);
    const result = assessPlacement(request, isRentableRegion(request), facts);
    const costPerHour = hourlyPriceOf(priceOf, request, request.gpuCount);
    if (result.placeable) return { ...result, costPerHour, capacityExpectedAt: null, alternatives: [] };
    const endsAfter = new Date(now.getTime() - OVERDUE_END_TOLERANCE_MS);
    const [{ pools }, changes] = await Promise.all([
      this.#snapshot.get(OFFERS_MAX_AGE_MS),
      isRentableRegion(request) && shape !== null
        ? readCapacityChanges(this.#db, request, { watchedSince, endsAfter })
        : [],
    ]);
    const fits = shape === null ? null : earliestFitAt(shape, changes, result.idleByFabric);
    const expectedMs = fits === null ? null : Math.max(fits.getTime(), now.getTime());
    return {
      ...result,
      costPerHour,
      capacityExpectedAt: expectedMs === null ? null : roundUpToMinute(new Date(expectedMs)),
      alternatives: pricedAlternatives(findAlternatives(request, pools), priceOf),
    };
  }

  /** Returns `placeable` of `explain` without the rest. */
  async canPlace({ mode }: Pick<Requester, 'mode'>, body: PlacementBody): Promise<boolean> {
    const request = toPlacementQuery(mode, body);
    const shape = nodeLayoutOf(request.machineType, request.gpuCount);
    const watchedSince = observedSinceAt(this.#db.clock.now());
    const byFabric = shape !== null && shape.nodeCount > 1;
    const facts = await readNodeFacts(this.#db, request, { watchedSince, byFabric });
    return assessPlacement(request, isRentableRegion(request), facts).placeable;
  }

  /** The guaranteed disk as the offers show it; null if there are no such machines. */
  async leastDiskGb({ mode }: Pick<Requester, 'mode'>, body: PlacementBody): Promise<number | null> {
    const request = toPlacementQuery(mode, body);
    const shape = nodeLayoutOf(request.machineType, request.gpuCount);
    const { pools } = await this.#snapshot.get(OFFERS_MAX_AGE_MS);
    const pool = pools.find((each) => isSamePool(each, request));
    return shape === null || pool === undefined ? null : minDiskOf(pool, shape);
  }

  async #load(): Promise<OfferSnapshot> {
    const now = await readAvailability(this.#db, observedSinceAt(this.#db.clock.now()));
    let hardware = await this.#hardware.get(HARDWARE_MAX_AGE_MS);
    if (isHardwareStale(hardware, now)) hardware = await this.#hardware.get(0);
    const pools = poolsOf(hardware, now);
    return { pools, offers: offersOf(pools) };
  }
}

function observedSinceAt(now: Date): Date {
  return new Date(now.getTime() - OBSERVATION_MAX_AGE_MS);
}

function toPlacementQuery(mode: Mode, body: PlacementBody): PlacementQuery {
  const { rentalType: machineType, region, gpuType, networkType: connectionType, gpuCount } = body;
  const cuda = parseCudaRequirement(body.cudaVersion);
  return { mode, machineType, region, gpuType, connectionType, gpuCount, cuda };
}

function isSamePool(pool: PoolKey, request: PlacementQuery): boolean {
  return (
    pool.mode === request.mode &&
    pool.machineType === request.machineType &&
    pool.region === request.region &&
    pool.gpuType === request.gpuType &&
    pool.connectionType === request.connectionType
  );
}

function matchesFilter(pool: Pick<Pool, 'gpuType' | 'region' | 'machineType'>, filter: OfferFilter): boolean {
  return (
    (filter.gpuType === undefined || filter.gpuType === pool.gpuType) &&
    (filter.region === undefined || filter.region === pool.region) &&
    (filter.machineType === undefined || filter.machineType === pool.machineType)
  );
}

function hourlyPriceOf(
  priceOf: GpuPriceLookup,
  pool: Pick<Pool, 'gpuType' | 'region' | 'machineType' | 'connectionType'>,
  gpuCount: number,
): NanoUsd | null {
  const { gpuType, region, machineType, connectionType: networkType } = pool;
  const price = priceOf({ gpuType, region, machineType, networkType });
  return price === null ? null : timesUsd(price, BigInt(gpuCount));
}

/** Sorts equally near alternatives by price. */
function pricedAlternatives(
  alternatives: readonly Alternative[],
  priceOf: GpuPriceLookup,
): readonly PricedAlternative[] {
  return alternatives
    .flatMap((alternative) => {
      const costPerHour = hourlyPriceOf(priceOf, alternative.pool, alternative.gpuCount);
      return costPerHour === null ? [] : { ...alternative, costPerHour };
    })
    .toSorted((one, other) => one.distance - other.distance || Number(one.costPerHour - other.costPerHour))
    .slice(0, ALTERNATIVES_SHOWN);
}
