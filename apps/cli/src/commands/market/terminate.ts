import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'market terminate',
  summary: 'Terminate an instance and delete its disk',
  description: 'Billing stops when the request is accepted. Terminating it again succeeds.',
  positionals: [{ name: 'instance', describe: 'the name of the instance' }],
  examples: {
    'millrace market terminate actual-bonsai-frog': 'Asks for confirmation',
    'millrace market terminate actual-bonsai-frog --yes': 'In a script',
  },
  operations: ['terminateMarketplaceInstance'],
  json: 'record',
  failure: 'Could not terminate the instance.',
  async run(context, { args }) {
    await context.confirm(`Terminate instance ${args.instance}? All data on its disk is lost.`);
    const { instances } = context.client().marketplace;
    const response = await instances.terminate({ id: args.instance }, { signal: context.signal });
    printResult(
      context,
      `Terminated instance ${args.instance}. See its cost: millrace market history`,
      response,
    );
  },
});
