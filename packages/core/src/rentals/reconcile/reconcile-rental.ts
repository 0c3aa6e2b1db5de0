import type { OrgId, RentalId } from '@millrace/platform/ids';
import { inChildSpan } from '@millrace/platform/telemetry';
import { planRental, type PlanStep, type RentalPlan } from './plan-rental.ts';
import { runDueAction, readDueAction, type DueAction } from './due-actions.service.ts';
import type { ReconcileDeps } from './reconcile-deps.ts';
import { scheduleAt } from '../model/rental-transitions.ts';
import { handOverRental, runPendingUserData } from './hand-over.steps.ts';
import { runPowerTask } from './power.steps.ts';
import { handOverPrivateCloud } from './private-cloud.steps.ts';
import { verifyMachine, confirmStart } from './verification.steps.ts';
import { createMachine, abandonAttempt, resumeReleasedMachine } from './provisioning.steps.ts';
import { disconnectMachine, finishTermination, deleteMachine } from './deletion.steps.ts';
import type { RentalView } from '../model/rental.ts';
import { rescheduleRental } from '../model/rentals.store.ts';
import { readView } from '../model/rental-view.ts';
import { readOrderedStorageOf } from '../model/rental-volumes.ts';

/** `again`: steps were executed, plan again. `wait`: nothing to do before then. `ended`: nothing to do ever. */
export type ReconcileResult =
  | { readonly kind: 'again' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'wait'; readonly until: Date; readonly forMs: number };

/** While paused, rentals are left to the sweep, which is paused as well. */
const PAUSED_WAIT_MS = 15_000;

/**
 * Plans and executes the next steps of one rental. Idempotent: any worker may call it, concurrently and after a crash at any
 * point, because all progress is in the rows or at the engine.
 */
export async function reconcileRental(
  deps: ReconcileDeps,
  orgId: OrgId,
  id: RentalId,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const view = await readView(deps.db, orgId, id);
  if (view === null) return { kind: 'ended' };
  const now = deps.db.clock.now();
  if (deps.hold?.isHeld() === true)
    return scheduleNextCheck(deps, view, new Date(now.getTime() + PAUSED_WAIT_MS));
  const due = await readDueAction(deps.db, view, now);
  const storage = await readOrderedStorageOf(deps.db, view.rental);
  const around = { now, policy: deps.policy, storage };
  const plan = planRental(view, { ...around, due });
  if (plan.steps.length === 0) return scheduleNextCheck(deps, view, plan.wait);
  const [again] = await executeSteps(deps, view, plan, { signal, due });
  if (again === undefined || plan.steps.length > 1) return { kind: 'again' };
  // The due action waits for money. Execute the other steps meanwhile.
  const others = planRental(view, { ...around, due: { at: again } });
  if (others.steps.length === 0) return scheduleNextCheck(deps, view, others.wait);
  await executeSteps(deps, view, others, { signal, due });
  return { kind: 'again' };
}

/** Returns the retry times of steps that could not be executed yet. */
async function executeSteps(
  deps: ReconcileDeps,
  view: RentalView,
  { steps }: RentalPlan,
  by: { readonly signal: AbortSignal; readonly due: DueAction | null },
): Promise<readonly Date[]> {
  const attributes = { 'millrace.rental_id': view.rental.id };
  const waits = await Promise.all(
    steps.map((step) =>
      inChildSpan(`rental ${step.do}`, { attributes }, () => executeStep(deps, view, step, by)),
    ),
  );
  return waits.filter((wait) => wait instanceof Date);
}

async function executeStep(
  deps: ReconcileDeps,
  view: RentalView,
  step: PlanStep,
  { signal, due }: { readonly signal: AbortSignal; readonly due: DueAction | null },
): Promise<Date | null | void> {
  switch (step.do) {
    case 'create':
      return createMachine(deps, view, step.machine, signal);
    case 'revive':
      return resumeReleasedMachine(deps, view, step.machine, signal);
    case 'prove':
      return verifyMachine(deps, view, step.machine, signal);
    case 'settle':
      return confirmStart(deps, view, step.machine, signal);
    case 'open':
      return handOverRental(deps, view, signal);
    case 'hand over':
      return handOverPrivateCloud(deps, view);
    case 'user data':
      return runPendingUserData(deps, view, signal);
    case 'give up':
      return abandonAttempt(deps, view, step.why);
    case 'fail':
      return abandonAttempt(deps, view, step.why, { atFault: [], mayMove: false });
    case 'cut':
      return disconnectMachine(deps, view, step.machine, signal);
    case 'remove':
      return deleteMachine(deps, view, step.machine, signal);
    case 'end':
      return finishTermination(deps, view);
    case 'stop':
    case 'start':
    case 'reboot':
      return runPowerTask(deps, view, step.do, signal);
    case 'carry out':
      return due === null ? null : runDueAction(deps, view, due);
  }
}

/** Shorter waits sleep inside the handler; longer ones are stored in `next_action_at` and resumed by the sweep. */
export const SHORT_WAIT_MS = 10_000;

/** Stores the next check, unless the rental has changed since it was read. */
async function scheduleNextCheck(
  deps: ReconcileDeps,
  view: RentalView,
  wait: Date | null,
): Promise<ReconcileResult> {
  if (wait === null) return { kind: 'ended' };
  const nowMs = deps.db.clock.nowMs();
  const forMs = Math.max(0, wait.getTime() - nowMs);
  const { workingMs } = deps.policy;
  const { rental } = view;
  const due = forMs < SHORT_WAIT_MS ? new Date(wait.getTime() + workingMs) : wait;
  const knownMs = rental.nextActionAt?.getTime() ?? 0;
  // A rental that is polled often is not written each time, but often enough not to be overdue.
  const isGoodEnough =
    forMs < SHORT_WAIT_MS ? knownMs > wait.getTime() && knownMs <= due.getTime() : knownMs === due.getTime();
  if (!isGoodEnough) await rescheduleRental(deps.db, rental, scheduleAt(due));
  return { kind: 'wait', until: wait, forMs };
}

/** A handler stops after this many rounds; the sweep resumes the rental. */
const ROUNDS_MAX = 2_000;

/** A command waits for the running handler, which reads the rows within this time and so sees an accepted termination. */
const MAX_SLEEP_MS = 1_000;

/** The steps that the Restate handler records in its journal. */
export interface ReconcileJournal {
  round(name: string): PromiseLike<ReconcileResult>;
  sleep(ms: number): PromiseLike<void>;
}

/** Reconciles until the rental has ended or its next wait is too long to sleep inside the handler. */
export async function reconcileUntilIdle(journal: ReconcileJournal): Promise<string> {
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const came = await journal.round(`round ${String(round)}`);
    if (came.kind === 'ended') return 'ended';
    if (came.kind === 'again') continue;
    if (came.forMs >= SHORT_WAIT_MS) return 'left to the sweep';
    await journal.sleep(Math.min(Math.max(came.forMs, 1), MAX_SLEEP_MS));
  }
  return 'left to the sweep';
}
