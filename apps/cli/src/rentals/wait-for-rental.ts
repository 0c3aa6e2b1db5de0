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
  /** The number of earlier steps; null if the API reports no steps and the expected steps are local. */
  readonly stepsBefore: number | null;
  /** The notice after Ctrl-C. */
  readonly goesOn: string;
  readonly undo: string | null;
}

/** Bare metal takes long. */
const MAX_WAIT_MS = 3 * 3_600_000;

/** Waits for the target state and shows progress. */
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

/** A wait that can never succeed. Detected by name, so that the client is not loaded. */
function isWaitFailure(error: unknown): error is Error {
  return error instanceof Error && error.name === 'WaitFailedError';
}

async function waitFailureError(context: Context, rentalId: number, cause: Error): Promise<CliError> {
  const rental = await context.client().rentals.get({ rentalId }, { signal: context.signal });
  const why = rental.statusReason ?? 'It cannot continue.';
  return new CliError(`Rental ${rentalId} is ${rental.status.toLowerCase()}.`, {
    why: `${why} It cost ${usdText(rental.costSoFarNanoUsd)}.`,
    fix: `See what happened: millrace rental events ${rentalId}`,
    cause,
  });
}

/** Waits while a rental is starting, also after watching was interrupted. */
export function waitUntilRunning(
  rental: Pick<Rental, 'id' | 'rentalType' | 'startedAt' | 'steps'>,
): WaitOptions {
  const isNew = rental.startedAt === null;
  return {
    until: 'running',
    plan: isNew ? createRentalSteps[rental.rentalType] : startRentalSteps,
    stepsBefore: isNew ? 0 : firstStepIndex(rental, 'start'),
    goesOn: `Rental ${rental.id} is still starting. Billing starts when it runs.`,
    undo: `millrace rental terminate ${rental.id}`,
  };
}

export function waitUntilTerminated({ id }: Pick<Rental, 'id'>): WaitOptions {
  return {
    until: 'terminated',
    plan: releaseRentalSteps,
    stepsBefore: null,
    goesOn: `Rental ${id} is still being deleted and costs nothing.`,
    undo: null,
  };
}

/** The index of the first step of a task, or the end of the list before it starts. */
function firstStepIndex({ steps }: Pick<Rental, 'steps'>, name: string): number {
  const index = steps.findLastIndex((step) => step.name === name);
  return index < 0 ? steps.length : index;
}

export function loginHint(rental: Rental): string {
  return rental.ssh.length === 0 ? '' : ` Log in: millrace ssh ${handleOf(rental)}`;
}
