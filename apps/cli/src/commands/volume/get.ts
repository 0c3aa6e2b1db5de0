import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { volumeDetailColumns } from '../../volumes/columns.ts';
import { findVolumeId } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume get',
  summary: 'Show a volume',
  positionals: [{ name: 'volume', describe: 'label or id of the volume' }],
  examples: {
    'millrace volume get datasets': 'With its mount command and cost',
    'millrace volume get 7 --json': 'The complete record',
  },
  operations: ['getStorageVolume', 'listStorageVolumes'],
  json: 'record',
  async run(context, { args }) {
    const storageVolumeId = await findVolumeId(context, args.volume);
    const volume = await context.client().volumes.get({ storageVolumeId }, { signal: context.signal });
    printRecord(context, volume, volumeDetailColumns(context));
    if (context.output.format === 'table' && volume.status === 'active') {
      context.note(
        `Mount it: sudo mount -t nfs4 -o vers=4.1,hard,proto=tcp ${volume.vip}:/volume /mnt/${volume.label}`,
      );
    }
  },
});
