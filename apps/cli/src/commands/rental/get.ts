import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { rentalDetails } from '../../rentals/columns.ts';
import { findRental } from '../../rentals/find.ts';

export const command = defineCommand({
  name: 'rental get',
  summary: 'All about one rental',
  positionals: [{ name: 'rental', describe: 'its name or number' }],
  examples: {
    'millrace rental get train': 'Where it is, how to get in, what it has cost',
    'millrace rental get 1042 --json': 'The whole record, with its steps',
  },
  operations: ['getRental', 'listVirtualMachineRentals', 'listBareMetalRentals', 'listRentalHistory'],
  json: 'record',
  async run(context, { args }) {
    const rental = await findRental(context, args.rental, { ended: true });
    printRecord(context, rental, rentalDetails(context));
  },
});
