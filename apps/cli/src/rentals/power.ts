import type { Context } from '../framework/context.ts';
import { printResult } from '../framework/output.ts';
import type { ExpectedSteps } from '@millrace/sdk/text';
import { stateOf } from './columns.ts';
import { handleOf, type Rental } from './find.ts';
import { waitForRental, loginHint, type WaitOptions } from './wait-for-rental.ts';

export const waitFlag = {
  type: 'boolean',
  describe: 'wait until it is done; --no-wait returns at once',
} as const;

/** What the commands that switch a rental have in common: it was accepted, now it is waited for. */
export async function finishPowerChange(
  context: Context,
  before: Rental,
  asked: {
    readonly until: WaitOptions['until'];
    readonly plan: ExpectedSteps;
    readonly doing: string;
    readonly wait: boolean | undefined;
    readonly accepted: Rental;
  },
): Promise<void> {
  const { id } = before;
  const handle = handleOf(before);
  if (asked.wait === false) {
    const later = `millrace rental wait ${id} --until ${asked.until}`;
    printResult(
      context,
      `Rental ${id} (${handle}) is being ${asked.doing}. Watch it: ${later}`,
      asked.accepted,
    );
    return;
  }
  const rental = await waitForRental(context, id, {
    until: asked.until,
    plan: asked.plan,
    stepsBefore: asked.plan.length === 1 ? null : before.steps.length,
    goesOn: `Rental ${id} goes on being ${asked.doing}.`,
    undo: `millrace rental terminate ${id}`,
  });
  const entrance = asked.until === 'running' ? loginHint(rental) : '';
  printResult(context, `Rental ${id} (${handle}) is ${stateOf(rental)}.${entrance}`, rental);
}
