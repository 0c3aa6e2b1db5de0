import { defineCommand } from '../../framework/command.ts';
import { printList } from '../../framework/output.ts';
import { volumeColumns, volumeFields } from '../../volumes/columns.ts';

export const command = defineCommand({
  name: 'volume list',
  summary: 'Your volumes, and where they are mounted',
  examples: [
    { command: 'millrace volume list', about: 'With the address to mount' },
    { command: 'millrace volume list --json', about: 'For a script' },
  ],
  operations: ['listStorageVolumes'],
  json: { kind: 'list', fields: volumeFields },
  async run(context) {
    const volumes = await context.client().volumes.list({}, { signal: context.signal }).all();
    printList(context, volumes, volumeColumns(context), {
      empty: 'You have no volumes. Make one: millrace volume create LABEL --region REGION --size-gb 256',
    });
  },
});
