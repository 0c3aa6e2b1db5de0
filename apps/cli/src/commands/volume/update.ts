import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printResult } from '../../framework/output.ts';
import { parseTagFlags } from '../../rentals/flags.ts';
import { findVolumeId } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume update',
  summary: 'Let a volume grow, or give it another label',
  description: 'It grows while it is in use and never shrinks. It costs by its new size from when it has it.',
  positionals: [{ name: 'volume', describe: 'its label or number' }],
  flags: {
    'size-gb': {
      type: 'number',
      integer: true,
      min: 256,
      value: 'GB',
      describe: 'its new size, in steps of 256',
    },
    label: { type: 'text', value: 'LABEL', describe: 'its new label' },
    tag: { type: 'list', value: 'NAME=VALUE', describe: 'all of its tags from now on' },
  },
  examples: {
    'millrace volume update datasets --size-gb 2048': 'Two terabytes from now on',
    'millrace volume update 7 --label archive': 'Another label',
  },
  operations: ['updateStorageVolume', 'listStorageVolumes'],
  json: 'record',
  failure: 'Could not change the volume.',
  async run(context, { args, flags }) {
    const changes = { sizeInGb: flags['size-gb'], label: flags.label, tags: parseTagFlags(flags.tag) };
    if (Object.values(changes).every((value) => value === undefined)) {
      throw new UsageError('Nothing to change was named.');
    }
    const storageVolumeId = await findVolumeId(context, args.volume);
    const { signal } = context;
    const volume = await context.client().volumes.update({ storageVolumeId, ...changes }, { signal });
    const growing = volume.growingToGb === null ? '' : ` It grows to ${volume.growingToGb} GB.`;
    printResult(
      context,
      `Volume ${volume.id} (${volume.label}) has ${volume.sizeInGb} GB.${growing}`,
      volume,
    );
  },
});
