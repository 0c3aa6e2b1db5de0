import type { Context } from '../framework/context.ts';
import { SilentExit } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import type { ExpectedSteps, Step } from '@millrace/sdk/text';
import { Progress } from './progress.ts';

const redrawMs = 100;

export async function withProgress<Result>(
  context: Context,
  plan: ExpectedSteps,
  wait: (show: (steps: readonly Step[]) => void) => Promise<Result>,
): Promise<Result> {
  const { io, clock } = context;
  const screen = {
    write: io.err,
    isTty: io.errIsTty,
    columns: () => io.columns,
    color: io.paintErr('dim', 'x') !== 'x',
  };
  const progress = new Progress(screen, plan);
  const stop = io.errIsTty
    ? clock.every(redrawMs, () => progress.tick(clock.monotonicMs()))
    : () => undefined;
  try {
    return await wait((steps) => progress.show(steps, clock.monotonicMs()));
  } finally {
    stop();
    progress.end();
  }
}

/** The notice after Ctrl-C: watching ends, but the work continues. */
export interface InterruptNotice {
  /** The work that continues: `Rental 1042 is still starting.` */
  readonly goesOn: string;
  readonly watchAgain: string;
  readonly undo: string | null;
}

/** Prints the notice if Ctrl-C ended the watching; otherwise does nothing. */
export async function withInterruptNotice<Result>(
  context: Context,
  unwatched: InterruptNotice,
  watching: Promise<Result>,
): Promise<Result> {
  try {
    return await watching;
  } catch (error) {
    if (!context.signal.aborted) throw error;
    context.io.err(
      [
        `\nStopped watching. ${unwatched.goesOn}`,
        `  Watch again: ${unwatched.watchAgain}`,
        ...(unwatched.undo === null ? [] : [`  Terminate:   ${unwatched.undo}`]),
        '',
      ].join('\n'),
    );
    throw new SilentExit(exitCodes.cancelled);
  }
}
