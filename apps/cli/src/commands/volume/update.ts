import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printResult } from '../../framework/output.ts';
import { parseTagFlags } from '../../rentals/flags.ts';
import { findVolumeId } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume update',
  summary: 'Grow a volume or change its label',
  description: 'It grows while it is in use and cannot shrink. The new size is billed from when it applies.',
  positionals: [{ name: 'volume', describe: 'label or id of the volume' }],
  flags: {
    'size-gb': {
      type: 'number',
      integer: true,
      min: 256,
      value: 'GB',
      describe: 'the new size, in steps of 256',
    },
    label: { type: 'text', value: 'LABEL', describe: 'the new label' },
    tag: { type: 'list', value: 'NAME=VALUE', describe: 'replaces all of its tags' },
  },
  examples: {
    'millrace volume update datasets --size-gb 2048': 'Grow to two terabytes',
    'millrace volume update 7 --label archive': 'Change the label',
  },
  operations: ['updateStorageVolume', 'listStorageVolumes'],
  json: 'record',
  failure: 'Could not change the volume.',
  async run(context, { args, flags }) {
    const changes = { sizeInGb: flags['size-gb'], label: flags.label, tags: parseTagFlags(flags.tag) };
    if (Object.values(changes).every((value) => value === undefined)) {
      throw new UsageError('Nothing to change. Use --size-gb, --label or --tag.');
    }
    const storageVolumeId = await findVolumeId(context, args.volume);
    const { signal } = context;
    const volume = await context.client().volumes.update({ storageVolumeId, ...changes }, { signal });
    const growing = volume.growingToGb === null ? '' : ` It is growing to ${volume.growingToGb} GB.`;
    printResult(
      context,
      `Volume ${volume.id} (${volume.label}) has ${volume.sizeInGb} GB.${growing}`,
      volume,
    );
  },
});
