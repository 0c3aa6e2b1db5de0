import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { readListingChanges, type ListingPosition } from '../listing/listing.store.ts';
import { readOnlineInstances, type OnlineInstance } from './hostnames.store.ts';

/** Everything is read this often, because old entries of the feed are deleted. */
const READ_EVERY_MS = 30_000;

/** Reads online instances only if listing_changes has new entries, which every change of an instance writes. */
export class OnlineInstances {
  readonly #db: Db;
  readonly #clock: Timer;
  #known: { readonly instances: readonly OnlineInstance[]; readonly readAtMs: number } | null = null;
  #place: ListingPosition | null = null;

  constructor(deps: { readonly db: Db; readonly clock: Timer }) {
    this.#db = deps.db;
    this.#clock = deps.clock;
  }

  async read(): Promise<readonly OnlineInstance[]> {
    const nowMs = this.#clock.monotonicMs();
    const { place, nodeIds } = await readListingChanges(this.#db, this.#place);
    const isFresh = this.#known !== null && nowMs - this.#known.readAtMs < READ_EVERY_MS;
    if (this.#known === null || !isFresh || nodeIds === null || nodeIds.length > 0) {
      this.#known = { instances: await readOnlineInstances(this.#db), readAtMs: nowMs };
    }
    // Set only now, so that a failed read finds the same changes again.
    this.#place = place;
    return this.#known.instances;
  }
}
