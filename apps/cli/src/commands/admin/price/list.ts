import { priceColumns } from '../../../admin/prices.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';
import { parseTimestamp } from '../../../text/timestamps.ts';

export const command = defineCommand({
  name: 'admin price list',
  summary: 'Show the price book, newest first',
  flags: {
    at: { type: 'text', value: 'TIME', describe: 'only what holds at this day or moment' },
    org: { type: 'text', value: 'ID', describe: 'only what this organisation pays by contract' },
    ...limitFlag,
  },
  examples: {
    'millrace admin price list': 'The whole book',
    'millrace admin price list --at 2026-12-01': 'What holds on a day',
  },
  operations: ['adminListPrices'],
  json: 'list',
  failure: 'Could not list the prices',
  run: (context, { flags: { at, org, limit } }) =>
    printLimitedList(
      context,
      context.client().admin.prices.list(
        {
          limit: pageSize(limit),
          ...(at === undefined ? {} : { at: parseTimestamp('--at', at) }),
          organisationId: org,
        },
        { signal: context.signal },
      ),
      priceColumns,
      { limit, noun: 'prices', empty: 'There is no price yet: millrace admin price create --help' },
    ),
});
