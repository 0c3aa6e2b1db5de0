import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { safeText } from '../../framework/text.ts';
import { findRentalId } from '../../rentals/find.ts';

export const command = defineCommand({
  name: 'rental rename',
  summary: 'Rename a rental',
  positionals: [
    { name: 'rental', describe: 'name or id of the rental' },
    { name: 'name', describe: 'the new name' },
  ],
  examples: {
    'millrace rental rename swift-brook-42 train': 'A descriptive name',
    'millrace rental rename 1042 "night batch"': 'By id',
  },
  operations: ['updateRental', 'listVirtualMachineRentals', 'listBareMetalRentals'],
  json: 'record',
  failure: 'Could not rename the rental.',
  async run(context, { args }) {
    const rentalId = await findRentalId(context, args.rental);
    const { signal } = context;
    const rental = await context.client().rentals.update({ rentalId, name: args.name }, { signal });
    printResult(context, `Renamed rental ${rentalId} to ${safeText(rental.name ?? '')}.`, rental);
  },
});
