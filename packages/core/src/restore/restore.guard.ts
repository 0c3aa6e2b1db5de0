import type { Timer } from '@millrace/platform/clock';
import type { Db, Reader } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { gauge } from '@millrace/platform/telemetry';
import { lostPeriodOf, mayHaveLostRow, type UnknownMachine } from './lost-period.ts';
import { isMarkAhead, newestCopy, type RestoreMark, type MarkCopy } from './restore-mark.ts';
import type { MarkStore } from './mark-stores.ts';
import {
  advanceMark,
  recordRestored,
  readCounters,
  readRestoreMark,
  readRestoreState,
  type RestoreState,
} from './restore.store.ts';

const blockedGauge = gauge('millrace_restore_blocked');
const unverifiedGauge = gauge('millrace_restore_unverified');

export interface RestoreGuardOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly stores: readonly MarkStore[];
  /** Called with each check while the database is restored: stops spending and updates the report. */
  readonly whileRestored?: (state: RestoreState) => Promise<void>;
}

const CHECK_EVERY_MS = 1_000;
const isolation = 'read committed';

const restoredText =
  'The database was restored to an earlier point. No credit is granted, and no machine is created or removed, until an operator runs ' +
  'millrace-admin restore confirm (see docs/runbooks/restore.md).';
const unverifiedText =
  'This worker has not compared the database with the mark in NATS or Valkey yet. Until then it grants no credit, and its loops wait.';

/** Reads the stores. NATS stores its copy on disk, so its response counts even without a copy; an empty Valkey proves nothing. */
async function readCopies(stores: readonly MarkStore[], installation: string) {
  const reads = await Promise.allSettled(stores.map((store) => store.read(installation)));
  const marks = reads.flatMap((read) => (read.status === 'fulfilled' ? (read.value ?? []) : []));
  const hasNats = stores.some(({ name }, index) => name === 'nats' && reads[index]?.status === 'fulfilled');
  return { marks, isCertain: marks.length > 0 || hasNats };
}

/** Tracks whether the database is the newest state of the installation. One per worker. */
export class RestoreGuard {
  readonly #options: RestoreGuardOptions;
  #isVerified = false;
  #state: RestoreState | null = null;
  #openedAt: Date | null = null;
  #wasOpen = false;
  /** The highest mark that this process has read from the database. */
  #seen: RestoreMark = { generation: 0, mark: 0 };

  constructor(options: RestoreGuardOptions) {
    this.#options = options;
  }

  /** True if this process has compared the database and no restore waits for a confirmation. Required for every outside effect. */
  isOpen(): boolean {
    return this.#isVerified && this.#state?.status === 'normal';
  }

  /** The same, decided by the row in the caller's transaction. */
  async mayGrant(reader: Reader): Promise<boolean> {
    if (!this.isOpen()) return false;
    // This process may advance the mark while the row is read.
    const before = this.#seen;
    const present = await readRestoreMark(reader);
    return present.status === 'normal' && !isMarkAhead(before, present);
  }

  /** Why the guard is closed, for operators. */
  reason(): string | null {
    if (this.isOpen()) return null;
    return this.#state !== null && this.#state.status !== 'normal' ? restoredText : unverifiedText;
  }

  /** When this process could last continue after it had to wait; null if it never waited. */
  heldUntil(): Date | null {
    const confirmedAt = this.#state?.confirmedAt ?? null;
    const openedAt = this.#openedAt;
    return openedAt === null || (confirmedAt !== null && confirmedAt > openedAt) ? confirmedAt : openedAt;
  }

  mayHaveLostRow(machine: UnknownMachine): boolean {
    return mayHaveLostRow(this.#state === null ? null : lostPeriodOf(this.#state), machine);
  }

  start(everyMs = CHECK_EVERY_MS): Loop {
    const { clock, log } = this.#options;
    const options = { name: 'compare the restore mark', clock, log, idleMs: everyMs, maxBackoffMs: everyMs };
    return startLoop(options, async () => {
      await this.check();
      return 'idle';
    });
  }

  /**
   * Compares and, unless the database was restored, advances the mark. The stores are read before the row: each copy was committed
   * here before, so a row behind its copy was restored.
   */
  async check(): Promise<RestoreState> {
    const { db, stores, whileRestored } = this.#options;
    const { installation } = await readRestoreState(db);
    const { marks, isCertain } = await readCopies(stores, installation);
    const present = await readRestoreState(db);
    const own = { ...this.#seen, at: new Date(0).toISOString(), counters: { invoices: 0, wireIds: {} } };
    const newest = newestCopy([...marks, own]) ?? own;
    if (present.status === 'normal' && isMarkAhead(newest, present)) {
      await this.#recordRestore(newest, present);
      const blocked = await readRestoreState(db);
      this.#remember(blocked);
      await whileRestored?.(blocked);
      return blocked;
    }
    this.#isVerified ||= isCertain;
    if (present.status !== 'normal') {
      this.#remember(present);
      await whileRestored?.(present);
      return readRestoreState(db);
    }
    if (isCertain) return this.#advance(present);
    this.#remember(present);
    return present;
  }

  async #recordRestore(outside: MarkCopy, { generation, mark, markedAt }: RestoreState): Promise<void> {
    const { db, log } = this.#options;
    await db.transaction({ name: 'note restore', isolation }, (tx) => recordRestored(tx, outside));
    log.error({ database: { generation, mark, at: markedAt }, outside }, restoredText);
  }

  async #advance(present: RestoreState): Promise<RestoreState> {
    const { db, log, stores } = this.#options;
    const advanced = await db.transaction({ name: 'advance restore mark', isolation }, async (tx) => {
      const next = await advanceMark(tx, present);
      return next === null ? null : { next, counters: await readCounters(tx) };
    });
    if (advanced === null) return present;
    const { next, counters } = advanced;
    this.#remember(next);
    const copy = { generation: next.generation, mark: next.mark, at: next.markedAt.toISOString(), counters };
    await Promise.all(
      stores.map((store) =>
        store.write(next.installation, copy).catch((error: unknown) => {
          log.warn({ err: error, store: store.name }, 'could not copy the restore mark');
        }),
      ),
    );
    return next;
  }

  #remember(next: RestoreState): void {
    const { db, log } = this.#options;
    const { generation, mark, status } = next;
    if (isMarkAhead(next, this.#seen)) this.#seen = { generation, mark };
    if (this.#state !== null && this.#state.status !== 'normal' && status === 'normal') {
      log.info({ generation }, 'the restore was confirmed: loops continue');
    }
    const wasHeld = this.#state !== null && !this.#wasOpen;
    this.#state = next;
    if (wasHeld && this.isOpen()) this.#openedAt = db.clock.now();
    this.#wasOpen = this.isOpen();
    blockedGauge.record(status === 'normal' ? 0 : 1);
    unverifiedGauge.record(this.#isVerified ? 0 : 1);
  }
}

export function createRestoreGuard(options: RestoreGuardOptions): RestoreGuard {
  return new RestoreGuard(options);
}
