import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { noteTestMode } from '../../money/mode.ts';
import { rentalDetails } from '../../rentals/columns.ts';
import { findRental } from '../../rentals/find.ts';

export const command = defineCommand({
  name: 'rental get',
  summary: 'Show a rental',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  examples: {
    'millrace rental get train': 'With its SSH address and cost',
    'millrace rental get 1042 --json': 'The complete record with its steps',
  },
  operations: ['getRental', 'listVirtualMachineRentals', 'listBareMetalRentals', 'listRentalHistory'],
  json: 'record',
  async run(context, { args }) {
    const rental = await findRental(context, args.rental, { ended: true });
    printRecord(context, rental, rentalDetails(context));
    noteTestMode(context);
  },
});
