import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { rentalDetails, rentalJson } from '../../rentals/columns.ts';
import { findRental } from '../../rentals/find.ts';

export const command = defineCommand({
  name: 'rental get',
  summary: 'All about one rental',
  positionals: [{ name: 'rental', describe: 'its name or number' }],
  examples: [
    { command: 'millrace rental get train', about: 'Where it is, how to get in, what it has cost' },
    { command: 'millrace rental get 1042 --json', about: 'The whole record, with its steps' },
  ],
  operations: ['getRental', 'listVirtualMachineRentals', 'listBareMetalRentals', 'listRentalHistory'],
  json: rentalJson,
  async run(context, { args }) {
    const rental = await findRental(context, args.rental, { ended: true });
    printRecord(context, rental, rentalDetails(context));
  },
});
