import { DriverError, type ComputeDriver } from '@millrace/compute';
import type { Db } from '@millrace/platform/db';
import type { ClusterId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { findClusterConnection } from './clusters.store.ts';
import type { ClusterConnection } from './clusters.ts';

/** The drivers of a process: one for each cluster, shared by all who speak to its engine. */
export interface DriverPool {
  /**
   * A driver of the cluster as it is configured now. Whoever has one keeps it for what it does now and asks again for
   * what comes next: it is closed as soon as the cluster is reached otherwise, and calls under way are `unavailable`.
   */
  of(id: ClusterId): Promise<ComputeDriver>;
  /** Has the driver made anew for whoever asks next: what it keeps of its engine may be what is wrong. */
  renew(id: ClusterId): void;
  /** Calls under way are `unavailable`, and nothing is handed out any more. */
  close(): Promise<void>;
}

export interface DriverPoolDeps {
  readonly db: Db;
  readonly log: Pick<Logger, 'warn'>;
  /** Makes a driver. It may be made before the engine can be reached. */
  readonly connect: (cluster: ClusterConnection) => Promise<ComputeDriver>;
  /** Another text whenever a driver would be made otherwise although the cluster's row is the same. */
  readonly markOf?: (cluster: ClusterConnection) => Promise<string>;
}

interface PoolEntry {
  /** What the driver was made by. */
  readonly key: string;
  readonly made: Promise<ComputeDriver>;
  isDropped: boolean;
}

export function createDriverPool(deps: DriverPoolDeps): DriverPool {
  return new DriverPoolImpl(deps);
}

class DriverPoolImpl implements DriverPool {
  readonly #deps: DriverPoolDeps;
  readonly #entries = new Map<ClusterId, PoolEntry>();
  /** Looks under way. All who ask meanwhile share one, so no older look undoes what a newer one found. */
  readonly #looks = new Map<ClusterId, Promise<PoolEntry>>();
  #isClosed = false;

  constructor(deps: DriverPoolDeps) {
    this.#deps = deps;
  }

  async of(id: ClusterId): Promise<ComputeDriver> {
    for (;;) {
      const entry = await this.#lookOnce(id);
      const driver = await entry.made;
      // It may have been dropped while it was made, or while we waited for our turn.
      if (!entry.isDropped) return driver;
    }
  }

  renew(id: ClusterId): void {
    const entry = this.#entries.get(id);
    // Not waited for: how long an engine that is away takes to be left concerns nobody.
    if (entry !== undefined) void this.#drop(id, entry);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#looks.values());
    await Promise.all([...this.#entries].map(([id, entry]) => this.#drop(id, entry)));
  }

  #lookOnce(id: ClusterId): Promise<PoolEntry> {
    if (this.#isClosed) return Promise.reject(poolClosedError());
    const under = this.#looks.get(id);
    if (under !== undefined) return under;
    const look = this.#look(id).finally(() => this.#looks.delete(id));
    this.#looks.set(id, look);
    return look;
  }

  async #look(id: ClusterId): Promise<PoolEntry> {
    const { db, markOf } = this.#deps;
    const reach = await findClusterConnection(db, id);
    if (reach === null) throw new DriverError('not_found', 'There is no such cluster.');
    const key = JSON.stringify([reach, (await markOf?.(reach)) ?? null]);
    const known = this.#entries.get(id);
    if (known?.key === key) return known;
    this.renew(id);
    if (this.#isClosed) throw poolClosedError();
    return this.#add(reach, key);
  }

  #add(reach: ClusterConnection, key: string): PoolEntry {
    const entry: PoolEntry = { key, made: this.#deps.connect(reach), isDropped: false };
    this.#entries.set(reach.id, entry);
    // Whoever waits for it hears why it failed; the next one tries again.
    entry.made.catch(() => this.#remove(reach.id, entry));
    return entry;
  }

  #remove(id: ClusterId, entry: PoolEntry): void {
    entry.isDropped = true;
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
  }

  async #drop(id: ClusterId, entry: PoolEntry): Promise<void> {
    if (entry.isDropped) return;
    this.#remove(id, entry);
    const driver = await entry.made.catch(() => null);
    await driver?.close().catch((error: unknown) => {
      this.#deps.log.warn({ err: error, clusterId: id }, 'a driver could not be closed');
    });
  }
}

function poolClosedError(): DriverError {
  return new DriverError('unavailable', 'This process is stopping and speaks to engines no more.');
}
