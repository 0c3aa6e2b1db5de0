import { defineCommand } from '../../framework/command.ts';
import { rebootSteps } from '@millrace/sdk/text';
import { findRental, handleOf } from '../../rentals/find.ts';
import { finishPowerChange, waitFlag } from '../../rentals/power.ts';

export const command = defineCommand({
  name: 'rental reboot',
  summary: 'Reboot a rental',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  flags: {
    force: { type: 'boolean', describe: 'hard reset, for a machine that does not respond' },
    wait: waitFlag,
  },
  examples: {
    'millrace rental reboot train': 'Asks for confirmation',
    'millrace rental reboot 1042 --force --yes': 'A machine that hangs',
  },
  operations: ['rebootRental', 'getRental', 'listVirtualMachineRentals', 'listBareMetalRentals'],
  json: 'record',
  failure: 'Could not reboot the rental.',
  async run(context, { args, flags }) {
    const rental = await findRental(context, args.rental);
    await context.confirm(`Reboot rental ${rental.id} (${handleOf(rental)})? Running programs are ended.`);
    const { signal } = context;
    const body = { rentalId: rental.id, force: flags.force === true };
    const accepted = await context.client().rentals.reboot(body, { signal });
    await finishPowerChange(context, rental, {
      until: 'running',
      plan: rebootSteps,
      doing: 'rebooted',
      wait: flags.wait,
      accepted,
    });
  },
});
