import { defineCommand } from '../../framework/command.ts';
import { fewFlag, printLimitedList } from '../../money/limit.ts';
import { inMode } from '../../money/mode.ts';
import { perHourText, usdText } from '@millrace/sdk/text';

export const command = defineCommand({
  name: 'market history',
  summary: 'List ended instances with their cost',
  flags: fewFlag(20, 999),
  examples: {
    'millrace market history': 'The last twenty',
    'millrace market history --limit 500 --json': 'For a script',
  },
  operations: ['listMarketplaceInstanceHistory'],
  json: 'list',
  async run(context, { flags: { limit } }) {
    const { instances } = context.client().marketplace;
    await printLimitedList(
      context,
      instances.listHistory({ limit: limit + 1 }, { signal: context.signal }),
      [
        { name: 'name', value: (each) => each.instance_name },
        {
          name: 'gpus',
          value: ({ gpu_count: count, hardware }) => `${count} × ${hardware.gpus[0]?.model ?? 'GPU'}`,
        },
        { name: 'from', value: (each) => each.started_at },
        { name: 'until', value: (each) => each.terminated_at },
        { name: 'price', value: ({ price }) => `${perHourText(price.amount)} a GPU`, align: 'right' },
        { name: 'cost', value: (each) => usdText(each.cost_nano_usd), align: 'right' },
      ],
      {
        limit,
        noun: 'instances',
        empty: `No instances have ended${inMode(context)} yet.`,
        showsAmounts: true,
        more: `More: millrace market history --limit ${Math.min(999, limit * 5)}`,
      },
    );
  },
});
