import { defineCommand } from '../../framework/command.ts';
import { printJson, printList } from '../../framework/output.ts';
import { quoteTitle } from '../../rentals/money.ts';
import { readQuoteRequest, quoteFlags } from '../../rentals/quote-request.ts';
import { perHourText } from '@millrace/sdk/text';

export const command = defineCommand({
  name: 'offers explain',
  summary: 'Explain why a rental is available or not, with alternatives',
  description: 'It reserves nothing and does not check your balance and limits; millrace quote does.',
  flags: quoteFlags,
  examples: {
    'millrace offers explain --gpu h100 --count 16 --region us-central-1': 'Why it is not available',
    'millrace offers explain --bare-metal --count 32 --network infiniband --region us-central-1':
      'Four nodes on one network',
  },
  operations: ['explainPlacement', 'listRentalOptions'],
  json: 'record',
  async run(context, { flags }) {
    const request = await readQuoteRequest(context, flags);
    const explained = await context.client().options.explain(request, { signal: context.signal });
    if (context.output.format === 'json') {
      printJson(context, explained);
      return;
    }
    const { nodesFitting, nodesConsidered } = explained;
    const result = explained.placeable ? 'is available now' : 'is not available now';
    context.io.out(`${quoteTitle(request)} ${result}: ${nodesFitting} of ${nodesConsidered} hosts fit.\n`);
    if (explained.obstacles.length > 0) {
      printList(
        context,
        explained.obstacles,
        [
          { name: 'hosts', value: ({ nodeCount }) => nodeCount, align: 'right' },
          { name: 'obstacle', value: ({ code }) => code },
          { name: 'why', value: ({ message }) => message },
        ],
        { empty: '' },
      );
    }
    if (explained.capacityExpectedAt !== null) {
      context.note(`Enough capacity is expected at ${explained.capacityExpectedAt}.`);
    }
    if (explained.alternatives.length > 0) {
      context.io.out('Instead:\n');
      printList(
        context,
        explained.alternatives,
        [
          { name: 'gpus', value: ({ gpuCount, gpuType }) => `${gpuCount} × ${gpuType}` },
          { name: 'region', value: ({ region }) => region },
          { name: 'network', value: ({ networkType }) => networkType },
          { name: 'free', value: ({ totalAvailable }) => totalAvailable, align: 'right' },
          { name: 'price', value: ({ costPerHour }) => perHourText(costPerHour), align: 'right' },
        ],
        { empty: '' },
      );
    }
  },
});
