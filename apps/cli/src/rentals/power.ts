import type { Context } from '../framework/context.ts';
import { printResult } from '../framework/output.ts';
import type { ExpectedSteps } from '@millrace/sdk/text';
import { stateOf } from './columns.ts';
import { handleOf, type Rental } from './find.ts';
import { waitForRental, loginHint, type WaitOptions } from './wait-for-rental.ts';

export const waitFlag = {
  type: 'boolean',
  describe: 'wait until it is complete; --no-wait returns immediately',
} as const;

/** Waits for an accepted start, stop or reboot. */
export async function finishPowerChange(
  context: Context,
  before: Rental,
  options: {
    readonly until: WaitOptions['until'];
    readonly plan: ExpectedSteps;
    readonly doing: string;
    readonly wait: boolean | undefined;
    readonly accepted: Rental;
  },
): Promise<void> {
  const { id } = before;
  const handle = handleOf(before);
  if (options.wait === false) {
    const later = `millrace rental wait ${id} --until ${options.until}`;
    printResult(
      context,
      `Rental ${id} (${handle}) is being ${options.doing}. Watch it: ${later}`,
      options.accepted,
    );
    return;
  }
  const rental = await waitForRental(context, id, {
    until: options.until,
    plan: options.plan,
    stepsBefore: options.plan.length === 1 ? null : before.steps.length,
    goesOn: `Rental ${id} is still being ${options.doing}.`,
    undo: `millrace rental terminate ${id}`,
  });
  const hint = options.until === 'running' ? loginHint(rental) : '';
  printResult(context, `Rental ${id} (${handle}) is ${stateOf(rental)}.${hint}`, rental);
}
