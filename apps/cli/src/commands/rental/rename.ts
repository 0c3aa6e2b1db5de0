import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { safeText } from '../../framework/text.ts';
import { findRentalId } from '../../rentals/find.ts';

export const command = defineCommand({
  name: 'rental rename',
  summary: 'Give a rental another name',
  positionals: [
    { name: 'rental', describe: 'its name or number' },
    { name: 'name', describe: 'what to call it from now on' },
  ],
  examples: {
    'millrace rental rename swift-brook-42 train': 'A name that says what it is for',
    'millrace rental rename 1042 "night batch"': 'By its number',
  },
  operations: ['updateRental', 'listVirtualMachineRentals', 'listBareMetalRentals'],
  json: 'record',
  failure: 'Could not rename the rental.',
  async run(context, { args }) {
    const rentalId = await findRentalId(context, args.rental);
    const { signal } = context;
    const rental = await context.client().rentals.update({ rentalId, name: args.name }, { signal });
    printResult(context, `Rental ${rentalId} is called ${safeText(rental.name ?? '')}.`, rental);
  },
});
