import { DriverError } from '@millrace/compute';
import type { StorageNodeId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { VolumeBackend } from '@millrace/storage';
import type { StorageNode } from './storage-nodes.ts';

/** One backend for each storage node, shared by the process. */
export interface BackendPool {
  of(node: StorageNode): Promise<VolumeBackend>;
  /** Reconnects on the next use: the cached connection may be the cause of a failure. */
  renew(id: StorageNodeId): void;
  close(): Promise<void>;
}

export interface BackendPoolDeps {
  readonly log: Pick<Logger, 'warn'>;
  /** The node need not be reachable yet. */
  readonly connect: (node: StorageNode) => Promise<VolumeBackend>;
}

interface PoolEntry {
  /** The settings that the backend was created with. */
  readonly key: string;
  readonly made: Promise<VolumeBackend>;
}

export function createBackendPool({ log, connect }: BackendPoolDeps): BackendPool {
  const entries = new Map<StorageNodeId, PoolEntry>();
  let isClosed = false;

  async function drop(id: StorageNodeId, entry: PoolEntry): Promise<void> {
    if (entries.get(id) === entry) entries.delete(id);
    const backend = await entry.made.catch(() => null);
    await backend?.close().catch((error: unknown) => {
      log.warn({ err: error, storageNodeId: id }, 'storage backend could not be closed');
    });
  }

  return {
    async of(node) {
      if (isClosed)
        throw new DriverError('unavailable', 'This process is stopping and connects to no storage node.');
      const { id, kind, endpoint, credentialRef, settings } = node;
      const key = JSON.stringify([kind, endpoint, credentialRef, settings]);
      const known = entries.get(id);
      if (known?.key === key) return known.made;
      if (known !== undefined) void drop(id, known);
      const entry: PoolEntry = { key, made: connect(node) };
      entries.set(id, entry);
      // Waiting callers get the error; the next caller retries.
      entry.made.catch(() => {
        if (entries.get(id) === entry) entries.delete(id);
      });
      return entry.made;
    },
    renew(id) {
      const entry = entries.get(id);
      if (entry !== undefined) void drop(id, entry);
    },
    async close() {
      isClosed = true;
      await Promise.all([...entries].map(([id, entry]) => drop(id, entry)));
    },
  };
}
