import { defineCommand } from '../../framework/command.ts';
import { fewFlag, printLimitedList } from '../../money/limit.ts';
import { inMode } from '../../money/mode.ts';
import { relativeText, usdText } from '@millrace/sdk/text';

export const command = defineCommand({
  name: 'rental history',
  summary: 'List ended rentals with their cost',
  flags: {
    ...fewFlag(20),
    from: {
      type: 'text',
      value: 'TIME',
      describe: 'only rentals that ended after this time: 2026-08-01T00:00:00Z',
    },
    until: { type: 'text', value: 'TIME', describe: 'only rentals that ended before this time' },
    type: {
      type: 'text',
      value: 'TYPE',
      choices: ['virtual-machine', 'bare-metal'],
      describe: 'only rentals of this type',
    },
  },
  examples: {
    'millrace rental history': 'The last twenty',
    'millrace rental history --from 2026-08-01T00:00:00Z --json': 'Since August, for a script',
  },
  operations: ['listRentalHistory'],
  json: 'list',
  async run(context, { flags }) {
    const { limit, from, until } = flags;
    const query = { limit: Math.min(200, limit + 1), from, until, rentalType: flags.type };
    const found = context.client().rentals.listHistory(query, { signal: context.signal });
    const now = context.clock.now().getTime();
    await printLimitedList(
      context,
      found,
      [
        { name: 'id', value: ({ rentalId }) => rentalId, align: 'right' },
        { name: 'name', value: ({ name, label }) => name ?? label },
        { name: 'gpus', value: ({ gpuCount, gpuType }) => `${gpuCount} × ${gpuType}` },
        { name: 'region', value: ({ region }) => region },
        {
          name: 'ended',
          value: ({ terminatedAt }) => (terminatedAt === null ? '' : relativeText(terminatedAt, now)),
        },
        { name: 'why', value: ({ terminationReason }) => terminationReason },
        { name: 'cost', value: ({ finalCost }) => usdText(finalCost.nanoUsd), align: 'right' },
        { name: 'type', value: ({ rentalType }) => rentalType, extra: true },
        { name: 'started', value: ({ startedAt }) => startedAt, extra: true },
      ],
      {
        limit,
        noun: 'rentals',
        empty: `No rentals ended${inMode(context)} in this period.`,
        showsAmounts: true,
        more: `More: millrace rental history --limit ${limit * 4}`,
      },
    );
  },
});
