import type { OrgId, RentalId } from '@millrace/platform/ids';
import { decide, type Act } from './decide.ts';
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

/** `again`: something was done, look at once. `wait`: nothing before then. `ended`: nothing ever. */
export type Round =
  | { readonly kind: 'again' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'wait'; readonly until: Date; readonly forMs: number };

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
  const now = parts.clock.now();
  const due = await dueOf(parts.db, view, now);
  const plan = decide(view, { now, policy: parts.policy, due });
  if (plan.acts.length === 0) return rest(parts, view, plan.wait);
  await Promise.all(plan.acts.map((act) => carryOut(parts, view, act, { signal, due })));
  return { kind: 'again' };
}

async function carryOut(
  parts: DriveParts,
  view: RentalView,
  act: Act,
  { signal, due }: { readonly signal: AbortSignal; readonly due: Due | null },
): Promise<void> {
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
      if (due !== null) await carryOutDue(parts.db, view, due);
  }
}

/** Waits this short are slept through by whoever works on the rental; for longer ones a sweep calls again. */
export const SHORT_WAIT_MS = 60_000;

/** Nothing is to be done before `wait`: that is written down, unless the rental has changed since it was looked at. */
async function rest(parts: DriveParts, view: RentalView, wait: Date | null): Promise<Round> {
  if (wait === null) return { kind: 'ended' };
  const nowMs = parts.clock.nowMs();
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
