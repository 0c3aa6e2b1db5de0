import { parseId } from '@millrace/platform/ids';
import { step } from '@millrace/platform/restate';
import { object, TerminalError, type ObjectContext } from '@restatedev/restate-sdk';
import { reconcileRental, reconcileUntilIdle } from './reconcile-rental.ts';
import type { ReconcileDeps } from './reconcile-deps.ts';
import { rentalObject } from '../model/rental-transitions.ts';

export interface ReconcileCommand {
  readonly orgId: string;
  readonly rentalId: string;
}

/** Rounds have their own timeouts; a round that hangs is repeated. */
const stepLimits = { maxAttempts: 5, timeoutMs: 180_000, firstRetryMs: 500, longestRetryMs: 5_000 };

/**
 * Restate object per rental, so that two handlers do not reconcile the same one. Restate makes it prompt and resumes it after a
 * crash. All state is in PostgreSQL: if Restate loses its state, the sweep enqueues the rentals again.
 */
export function createRentalWorkflow(
  deps: ReconcileDeps & {
    /** Lets tests share one Restate. */
    readonly service?: string;
  },
) {
  return object({
    name: deps.service ?? rentalObject.service,
    handlers: {
      [rentalObject.handler]: async (ctx: ObjectContext, command: ReconcileCommand): Promise<string> => {
        const [orgId, id] = [parseId('org', command.orgId), parseId('rnt', command.rentalId)];
        if (orgId === null || id === null)
          throw new TerminalError('The command contains no valid rental id.');
        return reconcileUntilIdle({
          round: (name) => step(ctx, name, stepLimits, (signal) => reconcileRental(deps, orgId, id, signal)),
          sleep: (ms) => ctx.sleep(ms),
        });
      },
    },
  });
}
