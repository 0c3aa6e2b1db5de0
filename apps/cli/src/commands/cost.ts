import { defineCommand } from '../framework/command.ts';
import { printJson, printList, type Column } from '../framework/output.ts';
import { noteTestMode, withLive } from '../money/mode.ts';
import { findRentalId } from '../rentals/find.ts';
import type { Output } from '../sdk.ts';
import { exactDuration, usdText } from '@millrace/sdk/text';

type Line = Output<'getRentalCost'>['lines'][number];

const columns: readonly Column<Line>[] = [
  { name: 'meter', value: ({ meter }) => meter },
  { name: 'from', value: ({ from }) => from },
  { name: 'until', value: ({ until }) => until ?? 'goes on' },
  { name: 'time', value: ({ seconds }) => exactDuration(seconds), align: 'right' },
  { name: 'rate', value: ({ costPerHourNanoUsd }) => `${usdText(costPerHourNanoUsd)}/h`, align: 'right' },
  { name: 'amount', value: ({ amountNanoUsd }) => usdText(amountNanoUsd), align: 'right' },
  { name: 'transfers', value: ({ transferIds }) => transferIds.join(' '), extra: true },
];

export const command = defineCommand({
  name: 'cost',
  summary: 'Show the cost of a rental',
  description:
    'Exact to the nano-USD, per meter; the lines add up to the total. Time is charged by the millisecond, so seconds times rate may differ in the last digits.',
  positionals: [{ name: 'rental', describe: 'name or id of the rental, also if it has ended' }],
  examples: {
    'millrace cost train': 'The cost so far',
    'millrace cost 1042 --columns meter,amount,transfers': 'With the ledger entries',
  },
  operations: ['getRentalCost', 'listVirtualMachineRentals', 'listBareMetalRentals', 'listRentalHistory'],
  json: 'record',
  failure: 'Could not read the cost.',
  async run(context, { args }) {
    const rentalId = await findRentalId(context, args.rental, { ended: true });
    const cost = await context.client().rentals.getCost({ rentalId }, { signal: context.signal });
    if (context.output.format === 'json') {
      printJson(context, cost);
      return;
    }
    printList(context, cost.lines, columns, {
      empty: 'It has cost nothing yet. Billing starts when it runs.',
    });
    context.io.out(`total ${withLive(usdText(cost.totalNanoUsd), cost.liveTotalNanoUsd)}\n`);
    context.note(`Charged: ${usdText(cost.postedNanoUsd)}. Held: ${usdText(cost.heldNanoUsd)}.`);
    noteTestMode(context);
  },
});
