import { defineCommand } from '../../framework/command.ts';
import { startRentalSteps, powerOnSteps } from '@millrace/sdk/text';
import { findRental } from '../../rentals/find.ts';
import { finishPowerChange, waitFlag } from '../../rentals/power.ts';

export const command = defineCommand({
  name: 'rental start',
  summary: 'Start a stopped rental',
  description:
    'A rental that released its GPUs needs a host with available GPUs. If there is none, it stays off and keeps its disk.',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  flags: { wait: waitFlag },
  examples: {
    'millrace rental start train': 'And wait until it is ready',
    'millrace rental start 1042 --no-wait': 'Without waiting',
  },
  operations: ['startRental', 'getRental', 'listVirtualMachineRentals', 'listBareMetalRentals'],
  json: 'record',
  failure: 'Could not start the rental.',
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
