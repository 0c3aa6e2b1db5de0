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

export interface RestoreGuard {
  /** Compares and, unless the database was restored, advances the mark. */
  check(): Promise<RestoreState>;
  /**
   * The database is the newest state as far as this process knows: it was compared at least once, and no restore waits for a
   * confirmation. Lending, acting outwards and giving numbers are allowed only then.
   */
  isOpen(): boolean;
  /** Whether it is open, decided by the row that the caller's transaction sees. */
  mayGrant(reader: Reader): Promise<boolean>;
  /** Why not, for people. */
  reason(): string | null;
  /** When this process could last act again after it had to wait; null: it never had to. */
  heldUntil(): Date | null;
  /** Whether a machine without a row may belong to a rental whose row was lost by a confirmed restore. */
  mayHaveLostRow(machine: UnknownMachine): boolean;
  start(everyMs?: number): Loop;
}

export interface RestoreGuardOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly stores: readonly MarkStore[];
  /** Called with each check while the database is known to be restored: stops spending, and reports. */
  readonly whileRestored?: (state: RestoreState) => Promise<void>;
}

const CHECK_EVERY_MS = 1_000;

const restoredText =
  'The database was restored to an earlier point. Nothing is lent, created or removed until an operator runs ' +
  'millrace-admin restore confirm (see docs/runbooks/restore.md).';
const unverifiedText =
  'This worker has not yet been able to compare the database with the mark in NATS or Valkey. Until then it lends, creates, removes, numbers and sends nothing.';

interface StoreAnswers {
  readonly marks: readonly MarkCopy[];
  /** NATS keeps its copy on disk, so its answer counts also when it has none; an empty Valkey says nothing. */
  readonly isCertain: boolean;
}

async function readCopies(
  stores: RestoreGuardOptions['stores'],
  installation: string,
): Promise<StoreAnswers> {
  const responses = await Promise.all(
    stores.map(async (store) => ({
      store,
      response: await store.read(installation).then(
        (mark) => ({ mark }),
        () => null,
      ),
    })),
  );
  const marks = responses.flatMap(({ response }) =>
    response === null || response.mark === null ? [] : [response.mark],
  );
  return {
    marks,
    isCertain:
      marks.length > 0 || responses.some((one) => one.store.name === 'nats' && one.response !== null),
  };
}

/** Knows whether the database is the newest state of the installation. One for each worker. */
export function createRestoreGuard(options: RestoreGuardOptions): RestoreGuard {
  const { db, log, stores } = options;
  let isVerified = false;
  let state: RestoreState | null = null;
  let openedAt: Date | null = null;
  let wasOpen = false;
  const isOpen = (): boolean => isVerified && state?.status === 'normal';
  /** The furthest that this process has seen of the database itself. */
  let seen: RestoreMark = { generation: 0, mark: 0 };

  function remember(next: RestoreState): void {
    if (isMarkAhead(next, seen)) seen = { generation: next.generation, mark: next.mark };
    if (state?.status !== 'normal' && state !== null && next.status === 'normal') {
      log.info({ generation: next.generation }, 'the restore was confirmed: lending and removing continue');
    }
    const wasHeld = state !== null && !wasOpen;
    state = next;
    if (wasHeld && isOpen()) openedAt = db.clock.now();
    wasOpen = isOpen();
    blockedGauge.record(next.status === 'normal' ? 0 : 1);
    unverifiedGauge.record(isVerified ? 0 : 1);
  }

  async function found(outside: MarkCopy, database: RestoreState): Promise<void> {
    await db.transaction({ name: 'note restore', isolation: 'read committed' }, (tx) =>
      recordRestored(tx, outside),
    );
    log.error(
      { database: { generation: database.generation, mark: database.mark, at: database.markedAt }, outside },
      restoredText,
    );
  }

  async function copy(advanced: RestoreState, counters: MarkCopy['counters']): Promise<void> {
    const { installation, generation, mark, markedAt } = advanced;
    const outside = { generation, mark, at: markedAt.toISOString(), counters };
    await Promise.all(
      stores.map((store) =>
        store
          .write(installation, outside)
          .catch((error: unknown) =>
            log.warn({ err: error, store: store.name }, 'the restore mark could not be copied'),
          ),
      ),
    );
  }

  /** The stores are read before the row: each copy was committed here before, so a row that is behind was put back. */
  async function check(): Promise<RestoreState> {
    const { installation } = await readRestoreState(db);
    const { marks, isCertain } = await readCopies(stores, installation);
    const present = await readRestoreState(db);
    const behindSeen = isMarkAhead(seen, present);
    const newest = newestCopy(marks);
    if (present.status === 'normal' && (behindSeen || (newest !== null && isMarkAhead(newest, present)))) {
      const counters = { invoices: 0, wireIds: {} };
      const own = { ...seen, at: new Date(0).toISOString(), counters };
      await found(newestCopy([...marks, ...(behindSeen ? [own] : [])]) ?? own, present);
      const blocked = await readRestoreState(db);
      remember(blocked);
      await options.whileRestored?.(blocked);
      return blocked;
    }
    isVerified ||= isCertain;
    if (present.status !== 'normal') {
      remember(present);
      await options.whileRestored?.(present);
      return readRestoreState(db);
    }
    if (!isCertain) {
      remember(present);
      return present;
    }
    const advanced = await db.transaction(
      { name: 'advance restore mark', isolation: 'read committed' },
      async (tx) => {
        const next = await advanceMark(tx, present);
        return next === null ? null : { next, counters: await readCounters(tx) };
      },
    );
    if (advanced === null) return present;
    remember(advanced.next);
    await copy(advanced.next, advanced.counters);
    return advanced.next;
  }

  return {
    check,
    isOpen,
    async mayGrant(reader) {
      if (!isOpen()) return false;
      // This process may advance the mark while the row is read.
      const before = seen;
      const present = await readRestoreMark(reader);
      return present.status === 'normal' && !isMarkAhead(before, present);
    },
    reason: () =>
      isOpen() ? null : state !== null && state.status !== 'normal' ? restoredText : unverifiedText,
    heldUntil() {
      const confirmedAt = state?.confirmedAt ?? null;
      return openedAt === null || (confirmedAt !== null && confirmedAt > openedAt) ? confirmedAt : openedAt;
    },
    mayHaveLostRow: (machine) => mayHaveLostRow(state === null ? null : lostPeriodOf(state), machine),
    start: (everyMs = CHECK_EVERY_MS) =>
      startLoop(
        {
          name: 'compare the restore mark',
          clock: options.clock,
          log,
          idleMs: everyMs,
          maxBackoffMs: everyMs,
        },
        async () => {
          await check();
          return 'idle';
        },
      ),
  };
}
