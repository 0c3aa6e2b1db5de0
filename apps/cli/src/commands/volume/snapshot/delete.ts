import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';
import { findVolume } from '../../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume snapshot delete',
  summary: 'Delete a snapshot',
  positionals: [
    { name: 'volume', describe: 'the label or number of its volume' },
    { name: 'snapshot', describe: 'its id' },
  ],
  examples: {
    'millrace volume snapshot delete datasets snp_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'Asks first',
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
    printResult(context, `Snapshot ${snapshotId} is deleted.`, { id: snapshotId, deleted: true });
  },
});
