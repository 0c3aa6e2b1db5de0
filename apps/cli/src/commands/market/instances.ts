import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { instanceColumns } from '../../market/columns.ts';

export const command = defineCommand({
  name: 'market instances',
  summary: 'Your instances on the marketplace',
  examples: {
    'millrace market instances': 'How to get in, and where their ports are',
    'millrace market instances --json': 'For a script',
  },
  operations: ['listMarketplaceInstances'],
  json: 'list',
  async run(context) {
    const { marketplace } = context.client();
    const instances = await marketplace.instances.list({}, { signal: context.signal }).all();
    printList(context, instances, instanceColumns, {
      empty: 'You have no instances. See what there is: millrace market list',
    });
  },
});
