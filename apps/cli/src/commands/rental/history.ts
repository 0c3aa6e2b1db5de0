import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { truncatedListNote } from '../../text/truncated-list.ts';
import { relativeText } from '@millrace/sdk/text';
import { usdText } from '@millrace/sdk/text';

export const command = defineCommand({
  name: 'rental history',
  summary: 'The rentals that have ended, and what each cost',
  flags: {
    limit: {
      type: 'number',
      integer: true,
      min: 1,
      value: 'N',
      default: 20,
      describe: 'show at most so many',
    },
    from: { type: 'text', value: 'TIME', describe: 'only those that ended since then: 2026-08-01T00:00:00Z' },
    until: { type: 'text', value: 'TIME', describe: 'only those that ended before then' },
    type: {
      type: 'text',
      value: 'TYPE',
      choices: ['virtual-machine', 'bare-metal'],
      describe: 'only of this type',
    },
  },
  examples: [
    { command: 'millrace rental history', about: 'The last twenty' },
    {
      command: 'millrace rental history --from 2026-08-01T00:00:00Z --json',
      about: 'Since August, for a script',
    },
  ],
  operations: ['listRentalHistory'],
  json: {
    kind: 'list',
    fields: [
      'rentalId',
      'externalId',
      'rentalType',
      'name',
      'label',
      'region',
      'gpuType',
      'gpuCount',
      'status',
      'createdAt',
      'startedAt',
      'terminatedAt',
      'terminationReason',
      'finalCost',
    ],
  },
  async run(context, { flags }) {
    const { limit, from, until } = flags;
    const query = { limit: Math.min(200, limit + 1), from, until, rentalType: flags.type };
    const found = await context
      .client()
      .rentals.listHistory(query, { signal: context.signal })
      .all({ max: limit + 1 });
    const shown = found.slice(0, limit);
    const now = context.clock.now().getTime();
    const footer = truncatedListNote({
      shown: shown.length,
      total: found.length > shown.length ? null : shown.length,
      noun: 'rentals',
      more: `More: millrace rental history --limit ${limit * 4}`,
    });
    printList(
      context,
      shown,
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
      { empty: 'No rental has ended in that time.', ...(footer === null ? {} : { footer }) },
    );
  },
});
