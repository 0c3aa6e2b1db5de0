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

/** What all acts on a rental share: what they need, how they speak to engines, and how they write down what came of it. */

export interface ReconcileDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** The driver of a cluster. Rejects while its engine cannot be spoken to at all. */
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  /** Seals the one-time keys of proofs. */
  readonly sealer: Sealer;
  readonly policy: RentalPolicy;
  /** Absent: nothing is ever held. */
  readonly hold?: ReconcilePause;
  /** Takes back money that was lent for inference, before a rental ends for lack of money. Absent: no money is lent. */
  readonly recallMoney?: RecallCredit | undefined;
  /** When this process first found too little money to convert a rental to on-demand, by the rental's id (ms). */
  readonly unfundedSince: Map<RentalId, number>;
}

/** Work on rentals that this process holds back, because the database is not known to be the newest state. */
export interface ReconcilePause {
  readonly isHeld: () => boolean;
  /** When work was last possible again; null: it was never held. What could not be tried before is not late. */
  readonly heldUntil: () => Date | null;
}

/** Carries out a step on one machine. */
export type RunMachineStep = (
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  signal: AbortSignal,
) => Promise<void>;

/** How often a long call looks whether its rental is still wanted. */
const STATUS_POLL_MS = 1_000;
/** The same for a rental that is being removed: only an operator's write-off ends it sooner. */
const DELETION_STATUS_POLL_MS = 10_000;

/**
 * A call to an engine with an end: by its own time, by the caller, or because the rental has moved on to another status
 * meanwhile. A tenant who ends a rental does not wait for its boot.
 */
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
        // A look that fails says nothing; the call has its own end.
        .catch(() => true)
        .then((isWanted) => {
          if (!isWanted) overtaken.abort(new DriverError('unavailable', 'No longer wanted.'));
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
  /** Asking again would give the same answer. */
  readonly isFinal: boolean;
  readonly message: string;
}

/** What went wrong with an engine. Whatever is not the engine's own word may pass. */
export function engineFailureOf(error: unknown): EngineFailure {
  if (isDriverError(error)) return { isFinal: error.isFinal, message: error.message };
  // A machine that is logged into, or its host, may have worded this.
  return { isFinal: false, message: plainText(error instanceof Error ? error.message : String(error)) };
}

/** The failure is noted on the machine, and its turn comes again later. */
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

/** The machine as it is now, if it still is where it was when it was acted on. */
export function findUnchangedMachine(view: RentalView, seen: RentalMachine): RentalMachine | null {
  const { attempt, position, state } = seen;
  return (
    view.machines.find(
      (machine) => machine.attempt === attempt && machine.position === position && machine.state === state,
    ) ?? null
  );
}

/** Works on the rental under its lock, if it still does what it was doing when it was read. */
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

/** Whether the rental is still doing what it was doing when an act on it began. */
export function isSameTask(now: Rental, seen: Rental): boolean {
  return now.status === seen.status && now.task === seen.task && now.attempt === seen.attempt;
}
