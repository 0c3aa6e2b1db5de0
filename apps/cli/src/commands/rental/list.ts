import { defineCommand } from '../../framework/command.ts';
import { fewFlag, printLimitedList } from '../../money/limit.ts';
import { inMode } from '../../money/mode.ts';
import { rentalColumns } from '../../rentals/columns.ts';

export const command = defineCommand({
  name: 'rental list',
  summary: 'List live rentals',
  description:
    'Virtual machines and bare metal, newest first. For ended rentals use millrace rental history.',
  flags: fewFlag(50),
  examples: {
    'millrace rental list': 'With the cost so far',
    'millrace rental list --columns id,name,address,ends': 'Other columns',
    'millrace rental list --json': 'For a script',
  },
  operations: ['listRentals'],
  json: 'list',
  async run(context, { flags: { limit } }) {
    const page = { limit: Math.min(200, limit + 1) };
    const rentals = context.client().rentals.list(page, { signal: context.signal });
    await printLimitedList(context, rentals, rentalColumns(context), {
      limit,
      noun: 'rentals',
      empty: `You have no rentals${inMode(context)}. See the offers: millrace offers`,
      showsAmounts: true,
      more: `More: millrace rental list --limit ${limit * 4}`,
    });
  },
});
