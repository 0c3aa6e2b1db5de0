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

const blockedGauge = gauge(
  'millrace_restore_blocked',
  '1 while the database is known to be restored to an earlier point and no operator has confirmed it',
);
const unverifiedGauge = gauge(
  'millrace_restore_unverified',
  '1 while this worker has not yet compared the database with a mark outside',
);

export interface RestoreGuardOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly stores: readonly MarkStore[];
  /** Called with each check while the database is known to be restored: stops spending, and reports. */
  readonly whileRestored?: (state: RestoreState) => Promise<void>;
}

const CHECK_EVERY_MS = 1_000;
const isolation = 'read committed';

const restoredText =
  'The database was restored to an earlier point. Nothing is lent, created or removed until an operator runs ' +
  'millrace-admin restore confirm (see docs/runbooks/restore.md).';
const unverifiedText =
  'This worker has not yet been able to compare the database with the mark in NATS or Valkey. Until then it lends, creates, removes, numbers and sends nothing.';

/** What the stores have. NATS keeps its copy on disk, so its answer counts also when it has none; an empty Valkey says nothing. */
async function readCopies(stores: readonly MarkStore[], installation: string) {
  const reads = await Promise.allSettled(stores.map((store) => store.read(installation)));
  const marks = reads.flatMap((read) => (read.status === 'fulfilled' ? (read.value ?? []) : []));
  const hasNats = stores.some(({ name }, index) => name === 'nats' && reads[index]?.status === 'fulfilled');
  return { marks, isCertain: marks.length > 0 || hasNats };
}

/** Knows whether the database is the newest state of the installation. One for each worker. */
export class RestoreGuard {
  readonly #options: RestoreGuardOptions;
  #isVerified = false;
  #state: RestoreState | null = null;
  #openedAt: Date | null = null;
  #wasOpen = false;
  /** The furthest that this process has seen of the database itself. */
  #seen: RestoreMark = { generation: 0, mark: 0 };

  constructor(options: RestoreGuardOptions) {
    this.#options = options;
  }

  /**
   * The database is the newest state as far as this process knows: it was compared at least once, and no restore waits for a
   * confirmation. Lending, acting outwards and giving numbers are allowed only then.
   */
  isOpen(): boolean {
    return this.#isVerified && this.#state?.status === 'normal';
  }

  /** Whether it is open, decided by the row that the caller's transaction sees. */
  async mayGrant(reader: Reader): Promise<boolean> {
    if (!this.isOpen()) return false;
    // This process may advance the mark while the row is read.
    const before = this.#seen;
    const present = await readRestoreMark(reader);
    return present.status === 'normal' && !isMarkAhead(before, present);
  }

  /** Why not, for people. */
  reason(): string | null {
    if (this.isOpen()) return null;
    return this.#state !== null && this.#state.status !== 'normal' ? restoredText : unverifiedText;
  }

  /** When this process could last act again after it had to wait; null: it never had to. */
  heldUntil(): Date | null {
    const confirmedAt = this.#state?.confirmedAt ?? null;
    const openedAt = this.#openedAt;
    return openedAt === null || (confirmedAt !== null && confirmedAt > openedAt) ? confirmedAt : openedAt;
  }

  /** Whether a machine without a row may belong to a rental whose row was lost by a confirmed restore. */
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
   * Compares and, unless the database was restored, advances the mark. The stores are read before the row: each copy was
   * committed here before, so a row that is behind was put back.
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
          log.warn({ err: error, store: store.name }, 'the restore mark could not be copied');
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
      log.info({ generation }, 'the restore was confirmed: lending and removing continue');
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
