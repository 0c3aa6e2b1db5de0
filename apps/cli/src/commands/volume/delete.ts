import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { findVolume } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume delete',
  summary: 'Delete a volume and its snapshots',
  description:
    'It can no longer be used. Its data is kept and billed until the printed time, and then deleted.',
  positionals: [{ name: 'volume', describe: 'label or id of the volume' }],
  examples: {
    'millrace volume delete scratch': 'Asks for confirmation',
    'millrace volume delete 7 --yes': 'In a script',
  },
  operations: ['deleteStorageVolume', 'listStorageVolumes'],
  json: 'record',
  failure: 'Could not delete the volume.',
  async run(context, { args }) {
    const volume = await findVolume(context, args.volume);
    await context.confirm(
      `Delete volume ${volume.id} (${volume.label}, ${volume.sizeInGb} GB) and all its data?`,
    );
    const { signal } = context;
    const deleted = await context.client().volumes.delete({ storageVolumeId: volume.id }, { signal });
    const until = deleted.purgeAt === null ? '' : ` Its data is kept and billed until ${deleted.purgeAt}.`;
    printResult(context, `Deleted volume ${deleted.id} (${deleted.label}).${until}`, deleted);
  },
});
