import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { KeyId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { updateKeysLastUsed } from '../model/api-keys.store.ts';

export interface KeyUsageOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn'>;
  /** A key's time of use is written at most this often by one process. */
  readonly intervalMs?: number;
  readonly maxKeys?: number;
}

const FLUSH_EVERY_MS = 5_000;

/**
 * Notes when keys were last used, behind the requests: `note` costs a map look-up, and one statement now and then
 * writes what has gathered. A crash loses the last few seconds of a figure that is kept to a minute anyway.
 */
export class KeyUsage {
  readonly #options: KeyUsageOptions;
  readonly #intervalMs: number;
  readonly #maxKeys: number;
  readonly #waiting = new Map<KeyId, Date>();
  readonly #written = new Map<KeyId, number>();

  constructor(options: KeyUsageOptions) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? 60_000;
    this.#maxKeys = options.maxKeys ?? 50_000;
  }

  /** Used now, unless a time is given. A time in the future, by a wrong clock, counts as now. */
  note(keyId: KeyId, usedAtMs = Number.POSITIVE_INFINITY): void {
    const atMs = Math.min(usedAtMs, this.#options.db.clock.nowMs());
    const writtenMs = this.#written.get(keyId);
    if (writtenMs !== undefined && atMs - writtenMs < this.#intervalMs) return;
    const waiting = this.#waiting.get(keyId);
    if (waiting === undefined ? this.#waiting.size >= this.#maxKeys : waiting.getTime() >= atMs) return;
    this.#waiting.set(keyId, new Date(atMs));
  }

  /** Writes what has gathered. Failing is no harm: the next use is noted again. */
  async flush(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const uses = new Map(this.#waiting);
    this.#waiting.clear();
    try {
      await this.#options.db.transaction({ name: 'note key use', isolation: 'read committed' }, (tx) =>
        updateKeysLastUsed(tx, uses),
      );
      if (this.#written.size + uses.size > this.#maxKeys) this.#written.clear();
      for (const [keyId, at] of uses) this.#written.set(keyId, at.getTime());
    } catch (error) {
      this.#options.log.warn({ err: error, keys: uses.size }, 'noting the use of keys failed');
    }
  }

  /** Flushes now and then until the signal aborts, and once more at the end. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.flush();
      await this.#options.clock.sleep(FLUSH_EVERY_MS, signal).catch(() => undefined);
    }
    // Uses may have been noted while the last flush ran.
    await this.flush();
  }
}
