import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';
import { findVolume } from '../../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume snapshot delete',
  summary: 'Delete a snapshot',
  positionals: [
    { name: 'volume', describe: 'label or id of the volume' },
    { name: 'snapshot', describe: 'id of the snapshot' },
  ],
  examples: {
    'millrace volume snapshot delete datasets snp_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'Asks for confirmation',
    'millrace volume snapshot delete 7 snp_01JD8Q7XK4T2M9V6B3N5C1F0GH --yes': 'In a script',
  },
  operations: ['deleteStorageVolumeSnapshot', 'listStorageVolumes'],
  json: { kind: 'record', fields: ['id', 'deleted'] },
  failure: 'Could not delete the snapshot.',
  async run(context, { args }) {
    const { id: storageVolumeId, label } = await findVolume(context, args.volume);
    const { snapshot: snapshotId } = args;
    await context.confirm(`Delete snapshot ${snapshotId} of volume ${storageVolumeId} (${label})?`);
    await context
      .client()
      .volumes.deleteSnapshot({ storageVolumeId, snapshotId }, { signal: context.signal });
    printResult(context, `Deleted snapshot ${snapshotId}.`, { id: snapshotId, deleted: true });
  },
});
