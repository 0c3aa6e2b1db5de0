import { defineCommand } from '../../framework/command.ts';
import { powerOffSteps, perHourText } from '@millrace/sdk/text';
import { findRental, handleOf } from '../../rentals/find.ts';
import { finishPowerChange, waitFlag } from '../../rentals/power.ts';

export const command = defineCommand({
  name: 'rental stop',
  summary: 'Switch a rental off, keeping its disk',
  description:
    'As it is, the GPUs stay yours and cost on. With --release they are given back and only the disk costs: when you start it again there may be none free, and then it stays off until there are.',
  positionals: [{ name: 'rental', describe: 'its name or number' }],
  flags: {
    release: { type: 'boolean', describe: 'give the GPUs back and stop paying for them' },
    wait: waitFlag,
  },
  examples: {
    'millrace rental stop train --release': 'For the night, paying for the disk only',
    'millrace rental stop 1042 --yes': 'Keep the GPUs',
  },
  operations: ['stopRental', 'getRental', 'listVirtualMachineRentals', 'listBareMetalRentals'],
  json: 'record',
  failure: 'Could not switch the rental off.',
  async run(context, { args, flags }) {
    const rental = await findRental(context, args.rental);
    const release = flags.release === true;
    const price = perHourText(rental.currentTerm.costPerHour);
    await context.confirm(
      release
        ? `Stop rental ${rental.id} (${handleOf(rental)}) and give its GPUs back? Starting it again needs free ones.`
        : `Stop rental ${rental.id} (${handleOf(rental)})? Its GPUs stay yours and cost ${price} on; --release gives them back.`,
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
