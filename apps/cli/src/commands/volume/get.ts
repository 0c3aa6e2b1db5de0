import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { volumeDetailColumns } from '../../volumes/columns.ts';
import { findVolumeId } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume get',
  summary: 'All about one volume',
  positionals: [{ name: 'volume', describe: 'its label or number' }],
  examples: {
    'millrace volume get datasets': 'How to mount it, and what it costs',
    'millrace volume get 7 --json': 'The whole record',
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
