import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { BackgroundNatsClient } from '@millrace/platform/nats';
import type { ValkeyClient, ValkeyGrant } from '@millrace/platform/valkey';
import { parseMarkCopy, type MarkCopy } from './restore-mark.ts';

/** Stores copies of the mark outside the database. Each can be empty or unreachable at any time, which proves nothing. */
export interface MarkStore {
  readonly name: 'nats' | 'valkey';
  /** Null if the store responds and has no copy. Throws if it does not respond. */
  read(installation: string): Promise<MarkCopy | null>;
  write(installation: string, mark: MarkCopy): Promise<void>;
}

const TIMEOUT_MS = 2_000;
const BUCKET_BYTES = 1_048_576;

export function restoreMarkBucket(prefix: string): string {
  return `${prefix}${prefix === '' ? '' : '-'}restore-mark`;
}

/** NATS stores its copy on disk. */
export function createNatsMarkStore(options: {
  readonly nats: Pick<BackgroundNatsClient, 'bucket' | 'ensureBucket'>;
  readonly clock: Timer;
  readonly prefix: string;
  readonly replicas: number;
}): MarkStore {
  const { nats, clock, prefix, replicas } = options;
  const name = restoreMarkBucket(prefix);
  let isThere = false;
  const inTime = <T>(work: () => Promise<T>): Promise<T> =>
    withDeadline(clock, 'Access to the restore mark in NATS', TIMEOUT_MS, async () => {
      try {
        if (!isThere) await nats.ensureBucket({ name, replicas, maxBytes: BUCKET_BYTES });
        isThere = true;
        return await work();
      } catch (error) {
        // NATS may have lost its disk: the next use creates the bucket again.
        isThere = false;
        throw error;
      }
    });
  return {
    name: 'nats',
    read: (installation) =>
      inTime(async () => {
        const entry = await nats.bucket(name).read(installation);
        return entry === null || entry.value === null ? null : parseMarkCopy(entry.value);
      }),
    write: (installation, mark) =>
      inTime(async () => {
        const bucket = nats.bucket(name);
        const entry = await bucket.read(installation);
        // A copy that another worker wrote meanwhile is equally good.
        await bucket.write(installation, JSON.stringify(mark), entry?.revision ?? 0);
      }),
  };
}

/** The keys of `createValkeyMarkStore`. */
export function restoreMarkGrant(prefix: string): ValkeyGrant {
  return { commands: ['get', 'set'], keys: [`restore-mark:${prefix}:*`] };
}

/** Valkey is empty after each restart. */
export function createValkeyMarkStore(valkey: Pick<ValkeyClient, 'command'>, prefix: string): MarkStore {
  const keyOf = (installation: string): string => `restore-mark:${prefix}:${installation}`;
  return {
    name: 'valkey',
    async read(installation) {
      const text = await valkey.command(['GET', keyOf(installation)]);
      return typeof text === 'string' ? parseMarkCopy(text) : null;
    },
    async write(installation, mark) {
      await valkey.command(['SET', keyOf(installation), JSON.stringify(mark)]);
    },
  };
}
