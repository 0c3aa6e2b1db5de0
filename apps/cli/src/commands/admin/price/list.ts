import { priceColumns } from '../../../admin/prices.ts';
import { defineCommand } from '../../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../../money/limit.ts';
import { parseTimestamp } from '../../../text/timestamps.ts';

export const command = defineCommand({
  name: 'admin price list',
  summary: 'List the prices, newest first',
  flags: {
    at: { type: 'text', value: 'TIME', describe: 'only prices in effect at this day or time' },
    org: { type: 'text', value: 'ID', describe: 'only contract prices of this organisation' },
    ...limitFlag,
  },
  examples: {
    'millrace admin price list': 'All prices',
    'millrace admin price list --at 2026-12-01': 'Prices in effect on a day',
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
      { limit, noun: 'prices', empty: 'No prices yet. Set one: millrace admin price create --help' },
    ),
});
