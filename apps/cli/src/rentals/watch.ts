import type { Context } from '../frame/context.ts';
import { CliError } from '../frame/errors.ts';
import { usdText } from '@millrace/sdk/text';
import { creating, releasing, starting, type Plan } from '@millrace/sdk/text';
import { ownStep } from '../progress/own-step.ts';
import { orUnwatched, withProgress } from '../progress/watch.ts';
import { handleOf, type Rental } from './find.ts';

export interface Wait {
  readonly until: 'running' | 'off' | 'terminated';
  readonly plan: Plan;
  /** Steps up to here belong to something earlier; null where the API tells no steps, and the plan is one of our own. */
  readonly stepsBefore: number | null;
  /** What goes on when somebody stops watching. */
  readonly goesOn: string;
  readonly undo: string | null;
}

/** Bare metal takes its time. */
const longestMs = 3 * 3_600_000;

/** Waits until what was asked for has come about, and shows how far it is. */
export async function watchRental(context: Context, rentalId: number, wait: Wait): Promise<Rental> {
  const { signal } = context;
  const { until, stepsBefore } = wait;
  const watching = withProgress(context, wait.plan, async (show) => {
    const own = stepsBefore === null ? ownStep(context, wait.plan[0]?.name ?? until) : null;
    if (own !== null) show([own.running]);
    const rental = await context.client().rentals.waitUntil({ rentalId }, until, {
      signal,
      timeoutMs: longestMs,
      onStep: (_step, { steps }) => {
        if (stepsBefore !== null) show(steps.slice(stepsBefore));
      },
    });
    if (own !== null) show([own.done()]);
    return rental;
  });
  const unwatched = {
    goesOn: wait.goesOn,
    watchAgain: `millrace rental wait ${rentalId}${until === 'running' ? '' : ` --until ${until}`}`,
    undo: wait.undo,
  };
  try {
    return await orUnwatched(context, unwatched, watching);
  } catch (error) {
    throw isLost(error) ? await lost(context, rentalId, error) : error;
  }
}

/** The SDK's error for what will never come, known by its name so that the client is not loaded for it. */
function isLost(error: unknown): error is Error {
  return error instanceof Error && error.name === 'WaitFailedError';
}

async function lost(context: Context, rentalId: number, cause: Error): Promise<CliError> {
  const rental = await context.client().rentals.get({ rentalId }, { signal: context.signal });
  const why = rental.statusReason ?? 'Nothing more will come of it.';
  return new CliError(`Rental ${rentalId} is ${rental.status.toLowerCase()}.`, {
    why: `${why} It cost ${usdText(rental.costSoFarNanoUsd)}.`,
    fix: `See what happened: millrace rental events ${rentalId}`,
    cause,
  });
}

/** While a rental is being made, and again for whoever comes back to watch. */
export function untilRunning(rental: Pick<Rental, 'id' | 'rentalType' | 'startedAt' | 'steps'>): Wait {
  const isNew = rental.startedAt === null;
  return {
    until: 'running',
    plan: isNew ? creating[rental.rentalType] : starting,
    stepsBefore: isNew ? 0 : lastStep(rental, 'start'),
    goesOn: `Rental ${rental.id} is still being brought up, and costs from when it runs.`,
    undo: `millrace rental terminate ${rental.id}`,
  };
}

export function untilTerminated({ id }: Pick<Rental, 'id'>): Wait {
  return {
    until: 'terminated',
    plan: releasing,
    stepsBefore: null,
    goesOn: `Rental ${id} goes on being removed, and costs nothing.`,
    undo: null,
  };
}

/** Where a task began: the place of its first step, or the end of the list before there is one. */
function lastStep({ steps }: Pick<Rental, 'steps'>, name: string): number {
  const index = steps.findLastIndex((step) => step.name === name);
  return index < 0 ? steps.length : index;
}

/** The way in, for the end of a success. */
export function wayIn(rental: Rental): string {
  return rental.ssh.length === 0 ? '' : ` Log in: millrace ssh ${handleOf(rental)}`;
}
