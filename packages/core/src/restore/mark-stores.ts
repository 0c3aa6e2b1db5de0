import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { BackgroundNatsClient } from '@millrace/platform/nats';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { parseMarkCopy, type MarkCopy } from './restore-mark.ts';

/** Where copies of the mark are kept. Each may be empty or away at any time, which proves nothing. */
export interface MarkStore {
  readonly name: 'nats' | 'valkey';
  /** Null: it answers and has none. Throws when it does not answer. */
  read(installation: string): Promise<MarkCopy | null>;
  write(installation: string, mark: MarkCopy): Promise<void>;
}

const TIMEOUT_MS = 2_000;
const BUCKET_BYTES = 1_048_576;

/** NATS keeps its copy on disk. */
export function createNatsMarkStore(options: {
  readonly nats: Pick<BackgroundNatsClient, 'bucket' | 'ensureBucket'>;
  readonly clock: Timer;
  readonly prefix: string;
  readonly replicas: number;
}): MarkStore {
  const { nats, clock, prefix, replicas } = options;
  const name = `${prefix}${prefix === '' ? '' : '-'}restore-mark`;
  let isThere = false;
  const inTime = <T>(work: () => Promise<T>): Promise<T> =>
    withDeadline(clock, 'The restore mark in NATS', TIMEOUT_MS, async () => {
      try {
        if (!isThere) await nats.ensureBucket({ name, replicas, maxBytes: BUCKET_BYTES });
        isThere = true;
        return await work();
      } catch (error) {
        // NATS may have lost its disk: the bucket is made again with the next use.
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
        // A copy that another worker wrote meanwhile is as good.
        await bucket.write(installation, JSON.stringify(mark), entry?.revision ?? 0);
      }),
  };
}

/** Valkey begins empty whenever it restarts. */
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
