import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { instanceColumns, instanceFields } from '../../market/columns.ts';

export const command = defineCommand({
  name: 'market instances',
  summary: 'Your instances on the marketplace',
  examples: [
    { command: 'millrace market instances', about: 'How to get in, and where their ports are' },
    { command: 'millrace market instances --json', about: 'For a script' },
  ],
  operations: ['listMarketplaceInstances'],
  json: { kind: 'list', fields: instanceFields },
  async run(context) {
    const { marketplace } = context.client();
    const instances = await marketplace.instances.list({}, { signal: context.signal }).all();
    printList(context, instances, instanceColumns, {
      empty: 'You have no instances. See what there is: millrace market list',
    });
  },
});
