import { DriverError } from '@millrace/compute';
import type { StorageNodeId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { VolumeBackend } from '@millrace/storage';
import type { StorageNode } from './storage-nodes.ts';

/** The backends of a process: one for each storage node, shared by all that speak to it. */
export interface BackendPool {
  /** The backend of the node as it is configured now. */
  of(node: StorageNode): Promise<VolumeBackend>;
  /** Has it made anew for whoever asks next: what it keeps of its node may be what is wrong. */
  renew(id: StorageNodeId): void;
  close(): Promise<void>;
}

export interface BackendPoolDeps {
  readonly log: Pick<Logger, 'warn'>;
  /** Makes a backend. It may be made before the node can be reached. */
  readonly connect: (node: StorageNode) => Promise<VolumeBackend>;
}

interface PoolEntry {
  /** What the backend was made by. */
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
      log.warn({ err: error, storageNodeId: id }, 'a storage backend could not be closed');
    });
  }

  return {
    async of(node) {
      if (isClosed)
        throw new DriverError('unavailable', 'This process is stopping and speaks to no backend.');
      const { id, kind, endpoint, credentialRef, settings } = node;
      const key = JSON.stringify([kind, endpoint, credentialRef, settings]);
      const known = entries.get(id);
      if (known?.key === key) return known.made;
      if (known !== undefined) void drop(id, known);
      const entry: PoolEntry = { key, made: connect(node) };
      entries.set(id, entry);
      // Whoever waits for it hears why it failed; the next one tries again.
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
