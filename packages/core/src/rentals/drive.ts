import type { OrgId, RentalId } from '@millrace/platform/ids';
import { decide, type Act, type Plan } from './decide.ts';
import { carryOutDue, dueOf, type Due } from './due.service.ts';
import type { DriveParts } from './drive-parts.ts';
import { dueAt } from './move.ts';
import { openRental, startUserData } from './opening.acts.ts';
import { switchPower } from './power.acts.ts';
import { handOverPrivateCloud } from './private-cloud.acts.ts';
import { proveMachine, settleMachine } from './proof.acts.ts';
import { createMachine, giveUp, reviveMachine } from './provision.acts.ts';
import { cutMachine, endRental, removeMachine } from './removal.acts.ts';
import type { RentalView } from './rental.ts';
import { touchRental } from './rentals.store.ts';
import { readView } from './views.ts';
import { storageOf } from './volume-hooks.ts';

/** `again`: something was done, look at once. `wait`: nothing before then. `ended`: nothing ever. */
export type Round =
  | { readonly kind: 'again' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'wait'; readonly until: Date; readonly forMs: number };

/** A rental that is held is left to the sweep, which waits as well. */
const HELD_WAIT_MS = 15_000;

/**
 * One look at a rental and whatever is to be done about it now. It may be called by anyone at any time, by two at once,
 * and again after dying anywhere inside: what was done shows in the rows or at the engine, and the rest follows.
 */
export async function driveOnce(
  parts: DriveParts,
  orgId: OrgId,
  id: RentalId,
  signal: AbortSignal,
): Promise<Round> {
  const view = await readView(parts.db, orgId, id);
  if (view === null) return { kind: 'ended' };
  const now = parts.db.clock.now();
  if (parts.hold?.isHeld() === true) return rest(parts, view, new Date(now.getTime() + HELD_WAIT_MS));
  const due = await dueOf(parts.db, view, now);
  const storage = await storageOf(parts.db, view.rental);
  const around = { now, policy: parts.policy, storage };
  const plan = decide(view, { ...around, due });
  if (plan.acts.length === 0) return rest(parts, view, plan.wait);
  const [again] = await carryOutAll(parts, view, plan, { signal, due });
  if (again === undefined || plan.acts.length > 1) return { kind: 'again' };
  // The due act waits for money. Meanwhile the other acts of the rental are carried out.
  const others = decide(view, { ...around, due: { at: again } });
  if (others.acts.length === 0) return rest(parts, view, others.wait);
  await carryOutAll(parts, view, others, { signal, due });
  return { kind: 'again' };
}

/** Returns when to try again the acts that could not be done yet. */
async function carryOutAll(
  parts: DriveParts,
  view: RentalView,
  { acts }: Plan,
  by: { readonly signal: AbortSignal; readonly due: Due | null },
): Promise<readonly Date[]> {
  const waits = await Promise.all(acts.map((act) => carryOut(parts, view, act, by)));
  return waits.filter((wait) => wait instanceof Date);
}

async function carryOut(
  parts: DriveParts,
  view: RentalView,
  act: Act,
  { signal, due }: { readonly signal: AbortSignal; readonly due: Due | null },
): Promise<Date | null | void> {
  switch (act.do) {
    case 'create':
      return createMachine(parts, view, act.machine, signal);
    case 'revive':
      return reviveMachine(parts, view, act.machine, signal);
    case 'prove':
      return proveMachine(parts, view, act.machine, signal);
    case 'settle':
      return settleMachine(parts, view, act.machine, signal);
    case 'open':
      return openRental(parts, view, signal);
    case 'hand over':
      return handOverPrivateCloud(parts, view);
    case 'user data':
      return startUserData(parts, view, signal);
    case 'give up':
      return giveUp(parts, view, act.why);
    case 'fail':
      return giveUp(parts, view, act.why, { atFault: [], mayMove: false });
    case 'cut':
      return cutMachine(parts, view, act.machine, signal);
    case 'remove':
      return removeMachine(parts, view, act.machine, signal);
    case 'end':
      return endRental(parts, view);
    case 'stop':
    case 'start':
    case 'reboot':
      return switchPower(parts, view, act.do, signal);
    case 'carry out':
      return due === null ? null : carryOutDue(parts, view, due);
  }
}

/** Shorter waits sleep inside the handler; longer ones are stored in `next_action_at` and resumed by the sweep. */
export const SHORT_WAIT_MS = 10_000;

/** Nothing is to be done before `wait`: that is written down, unless the rental has changed since it was looked at. */
async function rest(parts: DriveParts, view: RentalView, wait: Date | null): Promise<Round> {
  if (wait === null) return { kind: 'ended' };
  const nowMs = parts.db.clock.nowMs();
  const forMs = Math.max(0, wait.getTime() - nowMs);
  const { workingMs } = parts.policy;
  const { rental } = view;
  const due = forMs < SHORT_WAIT_MS ? new Date(wait.getTime() + workingMs) : wait;
  const knownMs = rental.nextActionAt?.getTime() ?? 0;
  // A rental that is polled every moment is not written every moment: what matters is that it does not look abandoned.
  const isGoodEnough =
    forMs < SHORT_WAIT_MS ? knownMs > wait.getTime() && knownMs <= due.getTime() : knownMs === due.getTime();
  if (!isGoodEnough) await touchRental(parts.db, rental, dueAt(due));
  return { kind: 'wait', until: wait, forMs };
}

/** A handler stops after this many rounds; the sweep resumes the rental. */
const ROUNDS_MAX = 2_000;

/**
 * A call for the same rental waits until the running handler returns or looks at the rows again, so an accepted end is seen
 * within this time.
 */
const LONGEST_SLEEP_MS = 1_000;

/** The steps that a durable handler records. Each call is an entry in its journal. */
export interface RoundJournal {
  round(name: string): PromiseLike<Round>;
  sleep(ms: number): PromiseLike<void>;
}

/** Drives one rental until it has ended or its next wait is too long to sleep inside the handler. */
export async function driveRounds(journal: RoundJournal): Promise<string> {
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const came = await journal.round(`round ${String(round)}`);
    if (came.kind === 'ended') return 'ended';
    if (came.kind === 'again') continue;
    if (came.forMs >= SHORT_WAIT_MS) return 'left to the sweep';
    await journal.sleep(Math.min(Math.max(came.forMs, 1), LONGEST_SLEEP_MS));
  }
  return 'left to the sweep';
}
