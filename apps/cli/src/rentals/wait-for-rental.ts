import type { Context } from '../framework/context.ts';
import { CliError } from '../framework/errors.ts';
import {
  usdText,
  createRentalSteps,
  releaseRentalSteps,
  startRentalSteps,
  type ExpectedSteps,
} from '@millrace/sdk/text';
import { localStep } from '../progress/local-step.ts';
import { withInterruptNotice, withProgress } from '../progress/watch.ts';
import { handleOf, type Rental } from './find.ts';

export interface WaitOptions {
  readonly until: 'running' | 'off' | 'terminated';
  readonly plan: ExpectedSteps;
  /** Steps up to here belong to something earlier; null where the API tells no steps, and the plan is one of our own. */
  readonly stepsBefore: number | null;
  /** What goes on when somebody stops watching. */
  readonly goesOn: string;
  readonly undo: string | null;
}

/** Bare metal takes its time. */
const MAX_WAIT_MS = 3 * 3_600_000;

/** Waits until what was asked for has come about, and shows how far it is. */
export async function waitForRental(context: Context, rentalId: number, wait: WaitOptions): Promise<Rental> {
  const { signal } = context;
  const { until, stepsBefore } = wait;
  const watching = withProgress(context, wait.plan, async (show) => {
    const own = stepsBefore === null ? localStep(context, wait.plan[0]?.name ?? until) : null;
    if (own !== null) show([own.running]);
    const rental = await context.client().rentals.waitUntil({ rentalId }, until, {
      signal,
      timeoutMs: MAX_WAIT_MS,
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
    return await withInterruptNotice(context, unwatched, watching);
  } catch (error) {
    throw isWaitFailure(error) ? await waitFailureError(context, rentalId, error) : error;
  }
}

/** The SDK's error for what will never come, known by its name so that the client is not loaded for it. */
function isWaitFailure(error: unknown): error is Error {
  return error instanceof Error && error.name === 'WaitFailedError';
}

async function waitFailureError(context: Context, rentalId: number, cause: Error): Promise<CliError> {
  const rental = await context.client().rentals.get({ rentalId }, { signal: context.signal });
  const why = rental.statusReason ?? 'Nothing more will come of it.';
  return new CliError(`Rental ${rentalId} is ${rental.status.toLowerCase()}.`, {
    why: `${why} It cost ${usdText(rental.costSoFarNanoUsd)}.`,
    fix: `See what happened: millrace rental events ${rentalId}`,
    cause,
  });
}

/** While a rental is being made, and again for whoever comes back to watch. */
export function waitUntilRunning(
  rental: Pick<Rental, 'id' | 'rentalType' | 'startedAt' | 'steps'>,
): WaitOptions {
  const isNew = rental.startedAt === null;
  return {
    until: 'running',
    plan: isNew ? createRentalSteps[rental.rentalType] : startRentalSteps,
    stepsBefore: isNew ? 0 : firstStepIndex(rental, 'start'),
    goesOn: `Rental ${rental.id} is still being brought up, and costs from when it runs.`,
    undo: `millrace rental terminate ${rental.id}`,
  };
}

export function waitUntilTerminated({ id }: Pick<Rental, 'id'>): WaitOptions {
  return {
    until: 'terminated',
    plan: releaseRentalSteps,
    stepsBefore: null,
    goesOn: `Rental ${id} goes on being removed, and costs nothing.`,
    undo: null,
  };
}

/** Where a task began: the place of its first step, or the end of the list before there is one. */
function firstStepIndex({ steps }: Pick<Rental, 'steps'>, name: string): number {
  const index = steps.findLastIndex((step) => step.name === name);
  return index < 0 ? steps.length : index;
}

/** The way in, for the end of a success. */
export function loginHint(rental: Rental): string {
  return rental.ssh.length === 0 ? '' : ` Log in: millrace ssh ${handleOf(rental)}`;
}
