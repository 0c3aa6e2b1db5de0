import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import type { Item } from '../../sdk.ts';
import { perHourText } from '@millrace/sdk/text';

type Option = Item<'listReserveOptions'>;

export const command = defineCommand({
  name: 'reserve list',
  summary: 'List reserved terms with their discounts',
  description:
    'Prices are per GPU and hour, the lowest that the option applies to; millrace quote --days shows the exact price.',
  flags: {
    gpu: { type: 'text', value: 'TYPE', describe: 'only for this GPU type' },
    region: { type: 'text', value: 'REGION', describe: 'only in this region' },
    type: {
      type: 'text',
      value: 'TYPE',
      choices: ['virtual-machine', 'bare-metal'],
      describe: 'only for this type',
    },
  },
  examples: {
    'millrace reserve list --gpu h100': 'The discounts for H100s',
    'millrace quote --gpu h100 --count 8 --days 30': 'The exact price',
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
        { name: 'region', value: ({ region }) => region ?? 'all regions' },
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
      { empty: 'No reserved terms are available. Rent on demand: millrace offers' },
    );
  },
});
