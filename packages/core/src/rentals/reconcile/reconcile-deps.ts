import { DriverError, isDriverError, plainText, type ComputeDriver } from '@millrace/compute';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import type { ClusterId, RentalId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { retryDelayMs } from '@millrace/platform/loops';
import type { Sealer } from '@millrace/platform/secrets';
import type { RecallCredit } from '../../ledger/index.ts';
import { saveMachine } from '../model/machines.store.ts';
import type { RentalPolicy } from '../model/policy.ts';
import type { Rental, RentalMachine, RentalView } from '../model/rental.ts';
import { lockView } from '../model/rental-view.ts';
import { findRental } from '../model/rentals.store.ts';

/** Shared by all steps: dependencies, calls to engines, retries and transactions. */

export interface ReconcileDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Returns the driver of a cluster. Rejects while its engine is unreachable. */
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  /** Seals readiness keys. */
  readonly sealer: Sealer;
  readonly policy: RentalPolicy;
  /** Absent: never paused. */
  readonly hold?: ReconcilePause;
  /** Recalls credit from inference before a rental ends for lack of money. Absent: there are no credit leases. */
  readonly recallMoney?: RecallCredit | undefined;
  /** When this process first found too little money to convert a rental to on-demand (ms), by rental id. */
  readonly unfundedSince: Map<RentalId, number>;
}

/** Pauses reconciling in this process while the database might not be the newest state. */
export interface ReconcilePause {
  readonly isHeld: () => boolean;
  /** When the last pause ended; null if there was none. Deletions during a pause are not late. */
  readonly heldUntil: () => Date | null;
}

export type RunMachineStep = (
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  signal: AbortSignal,
) => Promise<void>;

/** Interval at which a long call checks whether its rental has changed. */
const STATUS_POLL_MS = 1_000;
/** The same for rentals that are being deleted, which only a write-off can end sooner. */
const DELETION_STATUS_POLL_MS = 10_000;

/** Ends at its timeout, by `signal`, or when the rental's status changes: a termination does not wait for a boot. */
export async function callEngine<T>(
  deps: ReconcileDeps,
  rental: Rental,
  options: { readonly what: string; readonly timeoutMs: number; readonly signal: AbortSignal },
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const overtaken = new AbortController();
  const watchMs =
    rental.status === 'Terminating' || rental.status === 'Failed' ? DELETION_STATUS_POLL_MS : STATUS_POLL_MS;
  let cancel = (): void => undefined;
  const watch = (): void => {
    cancel = deps.clock.after(watchMs, () => {
      const look = findRental(deps.db, rental.orgId, rental.id);
      void look
        .then((now) => now?.status === rental.status)
        // A failed check is ignored; the call has its own timeout.
        .catch(() => true)
        .then((isWanted) => {
          if (!isWanted)
            overtaken.abort(
              new DriverError('unavailable', 'The status of the rental changed during the call.'),
            );
          if (!overtaken.signal.aborted) watch();
        });
    });
  };
  watch();
  try {
    return await withDeadline(deps.clock, options.what, options.timeoutMs, (deadline) =>
      call(AbortSignal.any([deadline, options.signal, overtaken.signal])),
    );
  } finally {
    cancel();
    overtaken.abort();
  }
}

export interface EngineFailure {
  /** Repeating the call would fail again. */
  readonly isFinal: boolean;
  readonly message: string;
}

/** Only errors that the engine reported as final are permanent. */
export function engineFailureOf(error: unknown): EngineFailure {
  if (isDriverError(error)) return { isFinal: error.isFinal, message: error.message };
  // The text may come from the machine or its host, so it is not trusted.
  return { isFinal: false, message: plainText(error instanceof Error ? error.message : String(error)) };
}

export async function scheduleRetry(
  deps: ReconcileDeps,
  machine: RentalMachine,
  failure: EngineFailure,
  options: { readonly afterMs?: number; readonly isCounted?: boolean } = {},
): Promise<void> {
  const { afterMs = retryDelayMs(deps.policy, machine.tries + 1), isCounted = true } = options;
  await deps.db.transaction({ name: 'try machine later', isolation: 'read committed' }, async (tx) => {
    await saveMachine(tx, machine, {
      tries: isCounted ? machine.tries + 1 : machine.tries,
      nextTryAt: new Date(tx.clock.nowMs() + afterMs),
      lastError: failure.message,
    });
  });
}

/** The machine's current row, if its state has not changed since it was read. */
export function findUnchangedMachine(view: RentalView, seen: RentalMachine): RentalMachine | null {
  const { attempt, position, state } = seen;
  return (
    view.machines.find(
      (machine) => machine.attempt === attempt && machine.position === position && machine.state === state,
    ) ?? null
  );
}

/** Runs `work` under the rental's lock if status, task and attempt are unchanged. */
export function withSameTask(
  { db }: ReconcileDeps,
  { rental }: RentalView,
  name: string,
  work: (tx: Tx, current: RentalView) => Promise<unknown>,
): Promise<void> {
  return db.transaction({ name, isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, rental);
    if (current !== null && isSameTask(current.rental, rental)) await work(tx, current);
  });
}

export function isSameTask(now: Rental, seen: Rental): boolean {
  return now.status === seen.status && now.task === seen.task && now.attempt === seen.attempt;
}
