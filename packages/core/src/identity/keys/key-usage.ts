import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { KeyId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { updateKeysLastUsed } from '../model/api-keys.store.ts';

export interface KeyUsageOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn'>;
  /** One process writes the time of use of a key at most this often. */
  readonly intervalMs?: number;
  readonly maxKeys?: number;
}

const FLUSH_EVERY_MS = 5_000;

/** Records when keys were last used, outside the request path: `note` only updates a map. A crash loses a few seconds. */
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

  /** The default is now. A future time, from a wrong clock, counts as now. */
  note(keyId: KeyId, usedAtMs = Number.POSITIVE_INFINITY): void {
    const atMs = Math.min(usedAtMs, this.#options.db.clock.nowMs());
    const writtenMs = this.#written.get(keyId);
    if (writtenMs !== undefined && atMs - writtenMs < this.#intervalMs) return;
    const waiting = this.#waiting.get(keyId);
    if (waiting === undefined ? this.#waiting.size >= this.#maxKeys : waiting.getTime() >= atMs) return;
    this.#waiting.set(keyId, new Date(atMs));
  }

  /** A failure is harmless: the next use is recorded again. */
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
      this.#options.log.warn({ err: error, keys: uses.size }, 'could not record the last use of API keys');
    }
  }

  /** Flushes periodically until the signal aborts, and once more at the end. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.flush();
      await this.#options.clock.sleep(FLUSH_EVERY_MS, signal).catch(() => undefined);
    }
    // Uses may have been recorded during the last flush.
    await this.flush();
  }
}
