import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { readListingChanges, type ListingPosition } from '../listing/listing.store.ts';
import { readOnlineInstances, type OnlineInstance } from './hostnames.store.ts';

/** All are read anew this often, whatever the feed says: it forgets what its readers should long have seen. */
const READ_EVERY_MS = 30_000;

/**
 * The instances that are online, as they are at the moment of asking. What an instance comes up or ends by is noted in the
 * feed of the listing in the same transaction, so a look at that tells whether there is anything to read.
 */
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
    // Only now: had the reading failed, the same changes would have to be found again.
    this.#place = place;
    return this.#known.instances;
  }
}
