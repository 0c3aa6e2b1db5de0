import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { rentalColumns, rentalJson } from '../../rentals/columns.ts';
import { truncatedListNote } from '../../text/truncated-list.ts';

export const command = defineCommand({
  name: 'rental list',
  summary: 'The rentals that have not ended',
  description:
    'Virtual machines and bare metal, newest first. Those that have ended: millrace rental history.',
  flags: {
    limit: {
      type: 'number',
      integer: true,
      min: 1,
      value: 'N',
      default: 50,
      describe: 'show at most so many',
    },
  },
  examples: [
    { command: 'millrace rental list', about: 'What runs, and what it has cost' },
    { command: 'millrace rental list --columns id,name,address,ends', about: 'Other columns' },
    { command: 'millrace rental list --json', about: 'For a script' },
  ],
  operations: ['listRentals'],
  json: { ...rentalJson, kind: 'list' },
  async run(context, { flags }) {
    const most = flags.limit + 1;
    const { signal } = context;
    const page = { limit: Math.min(200, most) };
    const rentals = await context.client().rentals.list(page, { signal }).all({ max: most });
    const shown = rentals.slice(0, flags.limit);
    const footer = truncatedListNote({
      shown: shown.length,
      total: rentals.length > shown.length ? null : shown.length,
      noun: 'rentals',
      more: `More: millrace rental list --limit ${flags.limit * 4}`,
    });
    printList(context, shown, rentalColumns(context), {
      empty: 'You have no rentals. See what there is: millrace offers',
      ...(footer === null ? {} : { footer }),
    });
  },
});
