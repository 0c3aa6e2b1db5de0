import { defineCommand } from '../../frame/command.ts';
import type { Context } from '../../frame/context.ts';
import { printList } from '../../frame/output.ts';
import { rentalColumns, rentalJson } from '../../rentals/columns.ts';
import type { Rental } from '../../rentals/find.ts';
import { shownLine } from '../../text/shown.ts';

export const command = defineCommand({
  name: 'rental list',
  summary: 'The rentals that have not ended',
  description: 'Virtual machines first, then bare metal. Those that have ended: millrace rental history.',
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
  operations: ['listVirtualMachineRentals', 'listBareMetalRentals', 'getRental'],
  json: { ...rentalJson, kind: 'list' },
  async run(context, { flags }) {
    const rentals = await takeRentals(context, flags.limit + 1);
    const shown = rentals.slice(0, flags.limit);
    const footer = shownLine({
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

async function takeRentals({ client, signal }: Context, most: number): Promise<readonly Rental[]> {
  const { rentals } = client();
  const page = Math.min(200, most);
  const machines = await rentals.listVirtualMachines({ limit: page }, { signal }).all({ max: most });
  const nodes = await rentals.listBareMetal({}, { signal }).all({ max: most - machines.length });
  // The list of bare metal is the interface's own and says less of each.
  const details = nodes.map(({ id }) => rentals.get({ rentalId: id }, { signal }));
  return [...machines, ...(await Promise.all(details))];
}
