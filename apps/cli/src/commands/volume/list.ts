import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { volumeColumns } from '../../volumes/columns.ts';

export const command = defineCommand({
  name: 'volume list',
  summary: 'Your volumes, and where they are mounted',
  examples: {
    'millrace volume list': 'With the address to mount',
    'millrace volume list --json': 'For a script',
  },
  operations: ['listStorageVolumes'],
  json: 'list',
  async run(context) {
    const volumes = await context.client().volumes.list({}, { signal: context.signal }).all();
    printList(context, volumes, volumeColumns(context), {
      empty: 'You have no volumes. Make one: millrace volume create LABEL --region REGION --size-gb 256',
    });
  },
});
