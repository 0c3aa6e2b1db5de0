import { parseId } from '@millrace/platform/ids';
import { step } from '@millrace/platform/restate';
import { object, TerminalError, type ObjectContext } from '@restatedev/restate-sdk';
import { reconcileRental, reconcileUntilIdle } from './reconcile-rental.ts';
import type { ReconcileDeps } from './reconcile-deps.ts';
import { rentalObject } from '../model/rental-transitions.ts';

/** What the outbox hands over: which rental to work on. */
export interface ReconcileCommand {
  readonly orgId: string;
  readonly rentalId: string;
}

/** A round ends by itself; one that does not is begun again by whoever comes next. */
const stepLimits = { maxAttempts: 5, timeoutMs: 180_000, firstRetryMs: 500, longestRetryMs: 5_000 };

/**
 * Works on rentals, one object for each, so that two do not work on the same one. Restate makes it prompt and takes it up
 * again at once after a crash. All that is to be done follows from PostgreSQL: if Restate forgets, the sweep calls again.
 */
export function createRentalWorkflow(
  deps: ReconcileDeps & {
    /** Another name, so that tests can share one Restate. */
    readonly service?: string;
  },
) {
  return object({
    name: deps.service ?? rentalObject.service,
    handlers: {
      [rentalObject.handler]: async (ctx: ObjectContext, command: ReconcileCommand): Promise<string> => {
        const [orgId, id] = [parseId('org', command.orgId), parseId('rnt', command.rentalId)];
        if (orgId === null || id === null) throw new TerminalError('The command names no rental.');
        return reconcileUntilIdle({
          round: (name) => step(ctx, name, stepLimits, (signal) => reconcileRental(deps, orgId, id, signal)),
          sleep: (ms) => ctx.sleep(ms),
        });
      },
    },
  });
}
