import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import type { Item } from '../../sdk.ts';
import { perHourText } from '@millrace/sdk/text';

type Option = Item<'listReserveOptions'>;

export const command = defineCommand({
  name: 'reserve list',
  summary: 'Terms that a rental can be reserved for, with their discounts',
  description:
    'The price is of one GPU and hour, the lowest that the option applies to; millrace quote --days tells the exact one.',
  flags: {
    gpu: { type: 'text', value: 'TYPE', describe: 'only for these GPUs' },
    region: { type: 'text', value: 'REGION', describe: 'only there' },
    type: {
      type: 'text',
      value: 'TYPE',
      choices: ['virtual-machine', 'bare-metal'],
      describe: 'only of this type',
    },
  },
  examples: {
    'millrace reserve list --gpu h100': 'What a month of H100s saves',
    'millrace quote --gpu h100 --count 8 --days 30': 'What that comes to',
  },
  operations: ['listReserveOptions'],
  json: 'list',
  async run(context, { flags }) {
    const query = {
      gpuType: flags.gpu?.toLowerCase() as Option['gpuType'] | undefined,
      region: flags.region as NonNullable<Option['region']> | undefined,
      machineType: flags.type,
      limit: 200,
    };
    const options = await context.client().options.listReserve(query, { signal: context.signal }).all();
    printList(
      context,
      options,
      [
        { name: 'days', value: ({ termPeriodDays }) => termPeriodDays, align: 'right' },
        { name: 'gpu', value: ({ gpuType }) => gpuType },
        { name: 'region', value: ({ region }) => region ?? 'every region' },
        { name: 'type', value: ({ machineType }) => machineType },
        { name: 'off', value: ({ discountPercentage }) => `${discountPercentage} %`, align: 'right' },
        { name: 'price', value: ({ costPerHour }) => `from ${perHourText(costPerHour)}`, align: 'right' },
        {
          name: 'instead of',
          value: ({ originalCostPerHour }) => perHourText(originalCostPerHour),
          align: 'right',
        },
        { name: 'given back', value: (each) => `${each.earlyTerminationRefundPercentage} %`, align: 'right' },
        { name: 'open', value: ({ enabled }) => enabled, extra: true },
        { name: 'id', value: ({ id }) => id, extra: true },
      ],
      { empty: 'No terms are on offer. Rentals are by the hour: millrace offers' },
    );
  },
});
