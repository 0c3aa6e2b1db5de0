import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { powerOffSteps } from '@millrace/sdk/text';
import { stateOf } from '../../rentals/columns.ts';
import { findRental, handleOf } from '../../rentals/find.ts';
import {
  waitUntilRunning,
  waitUntilTerminated,
  waitForRental,
  loginHint,
  type WaitOptions,
} from '../../rentals/wait-for-rental.ts';

export const command = defineCommand({
  name: 'rental wait',
  summary: 'Watch a rental until it runs, is off or has ended',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  flags: {
    until: {
      type: 'text',
      value: 'STATE',
      choices: ['running', 'off', 'terminated'],
      default: 'running',
      describe: 'the state to wait for',
    },
  },
  examples: {
    'millrace rental wait train': 'After Ctrl-C, or in another window',
    'millrace rental wait 1042 --until terminated': 'Until it is deleted',
  },
  operations: ['getRental', 'listVirtualMachineRentals', 'listBareMetalRentals', 'listRentalHistory'],
  json: 'record',
  async run(context, { args, flags }) {
    const found = await findRental(context, args.rental, { ended: true });
    const waits: Readonly<Record<typeof flags.until, () => WaitOptions>> = {
      running: () => waitUntilRunning(found),
      terminated: () => waitUntilTerminated(found),
      off: () => ({
        until: 'off',
        plan: powerOffSteps,
        stepsBefore: null,
        goesOn: 'The rental is still being stopped.',
        undo: null,
      }),
    };
    const rental = await waitForRental(context, found.id, waits[flags.until]());
    const hint = flags.until === 'running' ? loginHint(rental) : '';
    printResult(context, `Rental ${rental.id} (${handleOf(rental)}) is ${stateOf(rental)}.${hint}`, rental);
  },
});
