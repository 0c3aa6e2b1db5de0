import { type Body, type Contract, type GpuType, type Region } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import { timesUsd, type NanoUsd } from '@millrace/platform/money';
import { gpuPricesFor, readAllReserveOptions, type GpuPrices } from '../prices/index.ts';
import {
  alternativesTo,
  firstFit,
  judge,
  roundUpToMinute,
  type Alternative,
  type Verdict,
  type Wish,
} from './explain.ts';
import { readChanges, readFacts } from './explain.store.ts';
import {
  cudaNumber,
  isOutdated,
  isRentable,
  leastDiskOf,
  offersOf,
  poolsOf,
  shapeOf,
  type Hardware,
  type MachineType,
  type Pool,
  type PoolKey,
  type RentalOffer,
} from './offers.ts';
import { readAvailability, readHardware } from './offers.store.ts';
import { UNWATCHED_MS } from './placement.service.ts';
import { Recent } from './recent.ts';
import { reserveOffersOf, type ReserveOffer } from './reserve-offers.ts';

/** What tenants are told of what can be had, from the rows that placement goes by. */

/** How old what is shown may be. However many ask, the database is asked once in this time by each process. */
export const OFFERS_MAX_AGE_MS = 1_000;

/** What nodes are made of is read anew after this time, or as soon as something is free that it does not know of. */
const HARDWARE_MAX_AGE_MS = 60_000;

/** A rental that ended this recently is taken to be on its way out; one that is stuck for longer is not counted on. */
const OVERDUE_MS = 10 * 60_000;

const ALTERNATIVES_SHOWN = 20;

export interface OfferFilter {
  readonly gpuType?: GpuType | undefined;
  readonly region?: Region | undefined;
  readonly machineType?: MachineType | undefined;
}

/** Who asks: prices are theirs, and their mode decides what they see. */
export interface Asker {
  /** Null: somebody who has not signed in and is shown list prices. */
  readonly orgId: OrgId | null;
  readonly mode: Mode;
}

export interface PricedOffer extends RentalOffer {
  readonly costPerHour: NanoUsd;
}

export interface PricedAlternative extends Alternative {
  readonly costPerHour: NanoUsd;
}

export interface Explanation extends Verdict {
  /** Null: the price book has no price for it. */
  readonly costPerHour: NanoUsd | null;
  readonly capacityExpectedAt: Date | null;
  readonly alternatives: readonly PricedAlternative[];
}

export type RentalWish = Body<Contract['operations']['explainPlacement']>;

interface Snapshot {
  readonly pools: readonly Pool[];
  readonly offers: readonly RentalOffer[];
}

export class OfferBook {
  readonly #db: Db;
  readonly #hardware: Recent<Hardware>;
  readonly #snapshot: Recent<Snapshot>;

  constructor({ db, clock }: { readonly db: Db; readonly clock: Timer }) {
    this.#db = db;
    this.#hardware = new Recent(clock, () => readHardware(db));
    this.#snapshot = new Recent(clock, () => this.#load());
  }

  /** In the order of the list; without a price nothing is offered. */
  async rentalOffers({ orgId, mode }: Asker, filter: OfferFilter): Promise<readonly PricedOffer[]> {
    const [{ offers }, priceOf] = await Promise.all([
      this.#snapshot.get(OFFERS_MAX_AGE_MS),
      gpuPricesFor(this.#db, orgId, mode, this.#db.clock.now()),
    ]);
    return offers
      .filter((offer) => offer.mode === mode && matches(offer, filter))
      .flatMap((offer) => {
        const costPerHour = hourOf(priceOf, offer, offer.gpuCount);
        return costPerHour === null ? [] : { ...offer, costPerHour };
      });
  }

  /** By id, newest first. */
  async reserveOffers({ orgId, mode }: Asker, filter: OfferFilter): Promise<readonly ReserveOffer[]> {
    const [{ pools }, priceOf, options] = await Promise.all([
      this.#snapshot.get(OFFERS_MAX_AGE_MS),
      gpuPricesFor(this.#db, orgId, mode, this.#db.clock.now()),
      readAllReserveOptions(this.#db),
    ]);
    const ours = pools.filter((pool) => pool.mode === mode && matches(pool, filter));
    return reserveOffersOf(options, ours, priceOf);
  }

  /**
   * Whether a rental could be placed now, read anew for each question. What could be had instead is as old as what the
   * list of offers shows.
   */
  async explain({ orgId, mode }: Asker, asked: RentalWish): Promise<Explanation> {
    const wish = wishOf(mode, asked);
    const shape = shapeOf(wish.machineType, wish.gpuCount);
    const now = this.#db.clock.now();
    const watchedSince = watchedSinceAt(now);
    const [facts, priceOf] = await Promise.all([
      readFacts(this.#db, wish, { watchedSince, byFabric: shape !== null && shape.nodeCount > 1 }),
      gpuPricesFor(this.#db, orgId, mode, now),
    ]);
    const verdict = judge(wish, isRentable(wish), facts);
    const costPerHour = hourOf(priceOf, wish, wish.gpuCount);
    if (verdict.placeable) return { ...verdict, costPerHour, capacityExpectedAt: null, alternatives: [] };
    const endsAfter = new Date(now.getTime() - OVERDUE_MS);
    const [{ pools }, changes] = await Promise.all([
      this.#snapshot.get(OFFERS_MAX_AGE_MS),
      isRentable(wish) && shape !== null ? readChanges(this.#db, wish, { watchedSince, endsAfter }) : [],
    ]);
    const fits = shape === null ? null : firstFit(shape, changes, verdict.idleByFabric);
    const expectedMs = fits === null ? null : Math.max(fits.getTime(), now.getTime());
    return {
      ...verdict,
      costPerHour,
      capacityExpectedAt: expectedMs === null ? null : roundUpToMinute(new Date(expectedMs)),
      alternatives: pricedAlternatives(alternativesTo(wish, pools), priceOf),
    };
  }

  /** Whether `explain` would call it placeable, for those who need to know no more. */
  async canPlace({ mode }: Pick<Asker, 'mode'>, asked: RentalWish): Promise<boolean> {
    const wish = wishOf(mode, asked);
    const shape = shapeOf(wish.machineType, wish.gpuCount);
    const watchedSince = watchedSinceAt(this.#db.clock.now());
    const byFabric = shape !== null && shape.nodeCount > 1;
    const facts = await readFacts(this.#db, wish, { watchedSince, byFabric });
    return judge(wish, isRentable(wish), facts).placeable;
  }

  /** The disk that a machine gets at least, as the list of offers tells it; null where there are no such machines. */
  async leastDiskGb({ mode }: Pick<Asker, 'mode'>, asked: RentalWish): Promise<number | null> {
    const wish = wishOf(mode, asked);
    const shape = shapeOf(wish.machineType, wish.gpuCount);
    const { pools } = await this.#snapshot.get(OFFERS_MAX_AGE_MS);
    const pool = pools.find((each) => isSamePool(each, wish));
    return shape === null || pool === undefined ? null : leastDiskOf(pool, shape);
  }

  async #load(): Promise<Snapshot> {
    const now = await readAvailability(this.#db, watchedSinceAt(this.#db.clock.now()));
    let hardware = await this.#hardware.get(HARDWARE_MAX_AGE_MS);
    if (isOutdated(hardware, now)) hardware = await this.#hardware.get(0);
    const pools = poolsOf(hardware, now);
    return { pools, offers: offersOf(pools) };
  }
}

function watchedSinceAt(now: Date): Date {
  return new Date(now.getTime() - UNWATCHED_MS);
}

function wishOf(mode: Mode, asked: RentalWish): Wish {
  const { rentalType: machineType, region, gpuType, networkType: connectionType, gpuCount } = asked;
  return {
    mode,
    machineType,
    region,
    gpuType,
    connectionType,
    gpuCount,
    cuda: cudaNumber(asked.cudaVersion),
  };
}

function isSamePool(pool: PoolKey, wish: Wish): boolean {
  return (
    pool.mode === wish.mode &&
    pool.machineType === wish.machineType &&
    pool.region === wish.region &&
    pool.gpuType === wish.gpuType &&
    pool.connectionType === wish.connectionType
  );
}

function matches(thing: Pick<Pool, 'gpuType' | 'region' | 'machineType'>, filter: OfferFilter): boolean {
  return (
    (filter.gpuType === undefined || filter.gpuType === thing.gpuType) &&
    (filter.region === undefined || filter.region === thing.region) &&
    (filter.machineType === undefined || filter.machineType === thing.machineType)
  );
}

function hourOf(
  priceOf: GpuPrices,
  thing: Pick<Pool, 'gpuType' | 'region' | 'machineType' | 'connectionType'>,
  gpuCount: number,
): NanoUsd | null {
  const { gpuType, region, machineType, connectionType: networkType } = thing;
  const price = priceOf({ gpuType, region, machineType, networkType });
  return price === null ? null : timesUsd(price, BigInt(gpuCount));
}

/** Of alternatives that are equally near the cheapest comes first: the sort before this one is by distance alone. */
function pricedAlternatives(
  alternatives: readonly Alternative[],
  priceOf: GpuPrices,
): readonly PricedAlternative[] {
  return alternatives
    .flatMap((alternative) => {
      const costPerHour = hourOf(priceOf, alternative.pool, alternative.gpuCount);
      return costPerHour === null ? [] : { ...alternative, costPerHour };
    })
    .toSorted((one, other) => one.distance - other.distance || Number(one.costPerHour - other.costPerHour))
    .slice(0, ALTERNATIVES_SHOWN);
}
