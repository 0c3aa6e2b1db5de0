import { defineCommand } from '../../../framework/command.ts';
import { printResult } from '../../../framework/output.ts';
import { findVolumeId } from '../../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume snapshot create',
  summary: 'Take a snapshot of a volume',
  description: 'It is billed by its size, from when it is ready, and is deleted with its volume.',
  positionals: [{ name: 'volume', describe: 'label or id of the volume' }],
  flags: { label: { type: 'text', value: 'LABEL', describe: 'the label of the snapshot' } },
  examples: {
    'millrace volume snapshot create datasets': 'Before a change',
    'millrace volume snapshot create 7 --label before-cleaning': 'With a label',
  },
  operations: ['createStorageVolumeSnapshot', 'listStorageVolumes'],
  json: 'record',
  failure: 'Could not take the snapshot.',
  async run(context, { args, flags }) {
    const storageVolumeId = await findVolumeId(context, args.volume);
    const { signal } = context;
    const body = { storageVolumeId, label: flags.label };
    const snapshot = await context.client().volumes.createSnapshot(body, { signal });
    printResult(context, `Snapshot ${snapshot.id} (${snapshot.label}) is ${snapshot.status}.`, snapshot);
  },
});
