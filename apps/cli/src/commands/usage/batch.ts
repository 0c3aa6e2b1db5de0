import { usdText } from '@millrace/sdk/text';
import { defineCommand } from '../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';
import type { Item } from '../../sdk.ts';
import { timestampText } from '../../text/timestamps.ts';

type RequestUsage = Item<'listBatchRequests'>;

export const command = defineCommand({
  name: 'usage batch',
  summary: 'List the inference requests of one ledger line, oldest first',
  positionals: [
    { name: 'batchId', describe: 'the part after inference: in the cause of a ledger line, bat_…' },
  ],
  flags: { ...limitFlag },
  examples: {
    'millrace usage batch bat_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'Each request of the line with its cost',
    'millrace ledger --cause inference --limit 5': 'Ledger lines with their batch ids',
  },
  operations: ['listBatchRequests'],
  json: 'list',
  failure: 'Could not read the requests of the batch',
  run: async (context, { args: { batchId }, flags: { limit } }) => {
    const requests = context.client().usage.listBatchRequests({ batchId, limit: pageSize(limit) });
    await printLimitedList(context, requests, columns, {
      limit,
      noun: 'requests',
      empty: 'The batch has no requests.',
    });
  },
});

const columns = [
  { name: 'request', value: (usage: RequestUsage) => usage.id },
  { name: 'time', value: (usage: RequestUsage) => timestampText(usage.created_at) },
  { name: 'model', value: (usage: RequestUsage) => usage.model },
  { name: 'tokens in', align: 'right', value: (usage: RequestUsage) => usage.tokens_prompt },
  { name: 'tokens out', align: 'right', value: (usage: RequestUsage) => usage.tokens_completion },
  { name: 'cost', align: 'right', value: (usage: RequestUsage) => usdText(BigInt(usage.cost_nano_usd)) },
] as const;
