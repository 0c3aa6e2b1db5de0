import { defineCommand } from '../../../framework/command.ts';
import { printList } from '../../../framework/output.ts';
import { relativeText, perHourText } from '@millrace/sdk/text';
import { findVolumeId } from '../../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume snapshot list',
  summary: 'List the snapshots of a volume, newest first',
  positionals: [{ name: 'volume', describe: 'label or id of the volume' }],
  examples: {
    'millrace volume snapshot list datasets': 'With their prices',
    'millrace volume snapshot list 7 --json': 'For a script',
  },
  operations: ['listStorageVolumeSnapshots', 'listStorageVolumes'],
  json: 'list',
  async run(context, { args }) {
    const storageVolumeId = await findVolumeId(context, args.volume);
    const { signal } = context;
    const snapshots = await context
      .client()
      .volumes.listSnapshots({ storageVolumeId, limit: 200 }, { signal })
      .all();
    const now = context.clock.now().getTime();
    printList(
      context,
      snapshots,
      [
        { name: 'id', value: ({ id }) => id },
        { name: 'label', value: ({ label }) => label },
        { name: 'status', value: ({ status }) => status },
        { name: 'size', value: ({ sizeInGb }) => `${sizeInGb} GB`, align: 'right' },
        { name: 'price', value: ({ costPerHour }) => perHourText(costPerHour), align: 'right' },
        { name: 'taken', value: ({ createdAt }) => relativeText(createdAt, now) },
      ],
      { empty: `No snapshots yet. Take one: millrace volume snapshot create ${storageVolumeId}` },
    );
  },
});
