import { defineCommand } from '../framework/command.ts';
import { printJson, printList } from '../framework/output.ts';
import { exactDuration } from '@millrace/sdk/text';
import type { Output } from '../sdk.ts';

type Limits = Output<'getLimits'>;

export const command = defineCommand({
  name: 'limits',
  summary: 'Show rate limits and quotas and their use',
  examples: {
    'millrace limits': 'The limits of this key',
    'millrace limits --json': 'For a script that limits its own rate',
  },
  operations: ['getLimits'],
  json: 'record',
  failure: 'Could not read the limits',
  run: async (context) => {
    const limits = await context.client().limits.get();
    if (context.output.format === 'json') {
      printJson(context, limits);
      return;
    }
    printList(context, rowsOf(limits), columns, { empty: 'There are no limits.' });
    if (limits.fundedAt === null) {
      context.note('The first deposit raises the rate limit: millrace topup 25');
    }
  },
});

interface Row {
  readonly name: string;
  readonly limit: string;
  readonly used: number | null;
  readonly model: string | null;
}

function rowsOf({ rateLimits, quotas }: Limits): Row[] {
  return [
    ...rateLimits.map(({ name, limit, unit, windowSeconds, model }) => ({
      name,
      limit: `${limit} ${unit} in ${exactDuration(windowSeconds)}`,
      used: null,
      model,
    })),
    ...quotas.map(({ name, limit, used }) => ({
      name,
      limit: limit === null ? 'none' : String(limit),
      used,
      model: null,
    })),
  ];
}

const columns = [
  { name: 'name', value: (row: Row) => row.name },
  { name: 'limit', align: 'right', value: (row: Row) => row.limit },
  { name: 'used', align: 'right', value: (row: Row) => row.used },
  { name: 'model', value: (row: Row) => row.model },
] as const;
