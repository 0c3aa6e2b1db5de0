import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { truncatedListNote } from '../../text/truncated-list.ts';
import { perHourText, usdText } from '@millrace/sdk/text';

export const command = defineCommand({
  name: 'market history',
  summary: 'Instances that have ended, and what each cost',
  flags: {
    limit: {
      type: 'number',
      integer: true,
      min: 1,
      max: 999,
      value: 'N',
      default: 20,
      describe: 'show at most so many',
    },
  },
  examples: [
    { command: 'millrace market history', about: 'The last twenty' },
    { command: 'millrace market history --limit 500 --json', about: 'For a script' },
  ],
  operations: ['listMarketplaceInstanceHistory'],
  json: {
    kind: 'list',
    fields: [
      'instance_name',
      'started_at',
      'terminated_at',
      'price',
      'hardware',
      'gpu_count',
      'cost_nano_usd',
    ],
  },
  async run(context, { flags }) {
    const { limit } = flags;
    const { instances } = context.client().marketplace;
    const found = await instances
      .listHistory({ limit: limit + 1 }, { signal: context.signal })
      .all({ max: limit + 1 });
    const shown = found.slice(0, limit);
    const footer = truncatedListNote({
      shown: shown.length,
      total: found.length > shown.length ? null : shown.length,
      noun: 'instances',
      more: `More: millrace market history --limit ${Math.min(999, limit * 5)}`,
    });
    printList(
      context,
      shown,
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
      { empty: 'No instance has ended yet.', ...(footer === null ? {} : { footer }) },
    );
  },
});
