import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { inMode, noteTestMode } from '../../money/mode.ts';
import { volumeColumns } from '../../volumes/columns.ts';

export const command = defineCommand({
  name: 'volume list',
  summary: 'List your volumes with their rentals',
  examples: {
    'millrace volume list': 'With the mount address',
    'millrace volume list --json': 'For a script',
  },
  operations: ['listStorageVolumes'],
  json: 'list',
  async run(context) {
    const volumes = await context.client().volumes.list({}, { signal: context.signal }).all();
    printList(context, volumes, volumeColumns(context), {
      empty: `You have no volumes${inMode(context)}. Create one: millrace volume create LABEL --region REGION --size-gb 256`,
    });
    if (volumes.length > 0) noteTestMode(context);
  },
});
