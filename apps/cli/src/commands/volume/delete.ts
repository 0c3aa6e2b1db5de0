import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { findVolume } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume delete',
  summary: 'Delete a volume and its snapshots',
  description:
    'Nobody can use it from then on. Its data is kept, and paid for, until the time that is printed, and is deleted then.',
  positionals: [{ name: 'volume', describe: 'its label or number' }],
  examples: {
    'millrace volume delete scratch': 'Asks first',
    'millrace volume delete 7 --yes': 'In a script',
  },
  operations: ['deleteStorageVolume', 'listStorageVolumes'],
  json: 'record',
  failure: 'Could not delete the volume.',
  async run(context, { args }) {
    const volume = await findVolume(context, args.volume);
    await context.confirm(
      `Delete volume ${volume.id} (${volume.label}, ${volume.sizeInGb} GB) with all that is on it?`,
    );
    const { signal } = context;
    const deleted = await context.client().volumes.delete({ storageVolumeId: volume.id }, { signal });
    const until = deleted.purgeAt === null ? '' : ` Its data is kept, and costs, until ${deleted.purgeAt}.`;
    printResult(context, `Volume ${deleted.id} (${deleted.label}) is deleted.${until}`, deleted);
  },
});
