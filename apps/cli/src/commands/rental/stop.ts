import { defineCommand } from '../../framework/command.ts';
import { powerOffSteps, perHourText } from '@millrace/sdk/text';
import { findRental, handleOf } from '../../rentals/find.ts';
import { finishPowerChange, waitFlag } from '../../rentals/power.ts';

export const command = defineCommand({
  name: 'rental stop',
  summary: 'Stop a rental and keep its disk',
  description:
    'By default the rental keeps its GPUs and their cost. With --release it releases them and costs only its disk; if no GPUs are available when you start it again, it stays off.',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  flags: {
    release: { type: 'boolean', describe: 'release the GPUs and stop paying for them' },
    wait: waitFlag,
  },
  examples: {
    'millrace rental stop train --release': 'Overnight, paying only for the disk',
    'millrace rental stop 1042 --yes': 'Keep the GPUs',
  },
  operations: ['stopRental', 'getRental', 'listVirtualMachineRentals', 'listBareMetalRentals'],
  json: 'record',
  failure: 'Could not stop the rental.',
  async run(context, { args, flags }) {
    const rental = await findRental(context, args.rental);
    const release = flags.release === true;
    const price = perHourText(rental.currentTerm.costPerHour);
    await context.confirm(
      release
        ? `Stop rental ${rental.id} (${handleOf(rental)}) and release its GPUs? Starting it again needs available GPUs.`
        : `Stop rental ${rental.id} (${handleOf(rental)})? It keeps its GPUs and still costs ${price}; --release releases them.`,
    );
    const { signal } = context;
    const accepted = await context.client().rentals.stop({ rentalId: rental.id, release }, { signal });
    await finishPowerChange(context, rental, {
      until: 'off',
      plan: powerOffSteps,
      doing: 'switched off',
      wait: flags.wait,
      accepted,
    });
  },
});
