import { DriverError, type ComputeDriver } from '@millrace/compute';
import type { Db } from '@millrace/platform/db';
import type { ClusterId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { findClusterConnection } from './clusters.store.ts';
import type { ClusterConnection } from './clusters.ts';

/** One driver per cluster, shared by all callers in this process. */
export interface DriverPool {
  /** Returns the current driver. Do not keep it: the pool closes drivers whose cluster configuration changed. */
  of(id: ClusterId): Promise<ComputeDriver>;
  /** Drops the driver, whose cached state may be the cause of a failure. The next `of` creates another one. */
  renew(id: ClusterId): void;
  /** Calls in progress fail as `unavailable`, and `of` rejects from now on. */
  close(): Promise<void>;
}

export interface DriverPoolDeps {
  readonly db: Db;
  readonly log: Pick<Logger, 'warn'>;
  /** Creates a driver; the engine need not be reachable yet. */
  readonly connect: (cluster: ClusterConnection) => Promise<ComputeDriver>;
}

interface PoolEntry {
  /** The connection that the driver was created from. Drivers notice changed credential files themselves. */
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
  /** Lookups in progress. Concurrent callers share one, so an older lookup cannot undo the result of a newer one. */
  readonly #looks = new Map<ClusterId, Promise<PoolEntry>>();
  #isClosed = false;

  constructor(deps: DriverPoolDeps) {
    this.#deps = deps;
  }

  async of(id: ClusterId): Promise<ComputeDriver> {
    for (;;) {
      const entry = await this.#lookOnce(id);
      const driver = await entry.made;
      // The entry may have been dropped while this call waited.
      if (!entry.isDropped) return driver;
    }
  }

  renew(id: ClusterId): void {
    const entry = this.#entries.get(id);
    // Do not wait: closing a driver of an unreachable engine may take long.
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
    const reach = await findClusterConnection(this.#deps.db, id);
    if (reach === null) throw new DriverError('not_found', 'The cluster does not exist.');
    const key = JSON.stringify(reach);
    const known = this.#entries.get(id);
    if (known?.key === key) return known;
    this.renew(id);
    if (this.#isClosed) throw poolClosedError();
    return this.#add(reach, key);
  }

  #add(reach: ClusterConnection, key: string): PoolEntry {
    const entry: PoolEntry = { key, made: this.#deps.connect(reach), isDropped: false };
    this.#entries.set(reach.id, entry);
    // All waiting callers get the error; the next call retries.
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
      this.#deps.log.warn({ err: error, clusterId: id }, 'failed to close driver');
    });
  }
}

function poolClosedError(): DriverError {
  return new DriverError('unavailable', 'This process is stopping and makes no more calls to engines.');
}
