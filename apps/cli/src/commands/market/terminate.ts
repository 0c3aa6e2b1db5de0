import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'market terminate',
  summary: 'End an instance: its disk is deleted',
  description: 'Billing stops with the accepted request. Ending it again is a success again.',
  positionals: [{ name: 'instance', describe: 'its name' }],
  examples: {
    'millrace market terminate actual-bonsai-frog': 'Asks first',
    'millrace market terminate actual-bonsai-frog --yes': 'In a script',
  },
  operations: ['terminateMarketplaceInstance'],
  json: 'record',
  failure: 'Could not end the instance.',
  async run(context, { args }) {
    await context.confirm(`End instance ${args.instance}? Everything on its disk is lost.`);
    const { instances } = context.client().marketplace;
    const response = await instances.terminate({ id: args.instance }, { signal: context.signal });
    printResult(
      context,
      `Instance ${args.instance} has ended. What it cost: millrace market history`,
      response,
    );
  },
});
