import { defineCommand } from '../../framework/command.ts';
import { startRentalSteps, powerOnSteps } from '@millrace/sdk/text';
import { findRental } from '../../rentals/find.ts';
import { finishPowerChange, waitFlag } from '../../rentals/power.ts';

export const command = defineCommand({
  name: 'rental start',
  summary: 'Switch a rental on again',
  description:
    'One that gave its GPUs back needs a free host. Without one it stays off, and nothing is lost.',
  positionals: [{ name: 'rental', describe: 'its name or number' }],
  flags: { wait: waitFlag },
  examples: {
    'millrace rental start train': 'And wait until it can be used',
    'millrace rental start 1042 --no-wait': 'Without waiting',
  },
  operations: ['startRental', 'getRental', 'listVirtualMachineRentals', 'listBareMetalRentals'],
  json: 'record',
  failure: 'Could not switch the rental on.',
  async run(context, { args, flags }) {
    const rental = await findRental(context, args.rental);
    const { signal } = context;
    const accepted = await context.client().rentals.start({ rentalId: rental.id }, { signal });
    const plan = rental.gpuHeld ? powerOnSteps : startRentalSteps;
    await finishPowerChange(context, rental, {
      until: 'running',
      plan,
      doing: 'switched on',
      wait: flags.wait,
      accepted,
    });
  },
});
