import { parseId } from '@millrace/platform/ids';
import { step } from '@millrace/platform/restate';
import { object, TerminalError, type ObjectContext } from '@restatedev/restate-sdk';
import { driveOnce, SHORT_WAIT_MS } from './drive.ts';
import type { DriveParts } from './drive-parts.ts';
import { rentalDriver } from './move.ts';

/** What the outbox hands over: which rental to work on. */
export interface DriveRental {
  readonly orgId: string;
  readonly rentalId: string;
}

/** A round ends by itself; one that does not is begun again by whoever comes next. */
const limits = { maxAttempts: 5, timeoutMs: 180_000, firstRetryMs: 500, longestRetryMs: 5_000 };

/** So many rounds are worked in one call; a rental that needs more is called for again by the sweep. */
const ROUNDS_MAX = 2_000;

/**
 * Whoever is called for the same rental meanwhile waits behind this one: an end that was asked for is seen no later than this,
 * however long there is nothing else to do.
 */
const LONGEST_SLEEP_MS = 1_000;

/**
 * Works on rentals, one object for each, so that two do not work on the same one. Restate makes it prompt and takes it up
 * again at once after a crash. All that is to be done follows from PostgreSQL: if Restate forgets, the sweep calls again.
 */
export function createRentalWorkflow(
  parts: DriveParts & {
    /** Another name, so that tests can share one Restate. */
    readonly service?: string;
  },
) {
  return object({
    name: parts.service ?? rentalDriver.service,
    handlers: {
      [rentalDriver.handler]: async (ctx: ObjectContext, command: DriveRental): Promise<string> => {
        const [orgId, id] = [parseId('org', command.orgId), parseId('rnt', command.rentalId)];
        if (orgId === null || id === null) throw new TerminalError('The command names no rental.');
        for (let round = 1; round <= ROUNDS_MAX; round += 1) {
          const came = await step(ctx, `round ${String(round)}`, limits, (signal) =>
            driveOnce(parts, orgId, id, signal),
          );
          if (came.kind === 'ended') return 'ended';
          if (came.kind === 'again') continue;
          if (came.forMs >= SHORT_WAIT_MS) return 'left to the sweep';
          await ctx.sleep(Math.min(Math.max(came.forMs, 1), LONGEST_SLEEP_MS));
        }
        return 'left to the sweep';
      },
    },
  });
}
