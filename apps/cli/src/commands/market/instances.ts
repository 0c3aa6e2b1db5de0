import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { inMode, noteTestMode } from '../../money/mode.ts';
import { instanceColumns } from '../../market/columns.ts';

export const command = defineCommand({
  name: 'market instances',
  summary: 'List your marketplace instances',
  examples: {
    'millrace market instances': 'With SSH and port addresses',
    'millrace market instances --json': 'For a script',
  },
  operations: ['listMarketplaceInstances'],
  json: 'list',
  async run(context) {
    const { marketplace } = context.client();
    const instances = await marketplace.instances.list({}, { signal: context.signal }).all();
    printList(context, instances, instanceColumns, {
      empty: `You have no instances${inMode(context)}. See the machines: millrace market list`,
    });
    if (instances.length > 0) noteTestMode(context);
  },
});
