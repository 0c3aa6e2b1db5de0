import { defineCommand } from '../../framework/command.ts';
import { CliError } from '../../framework/errors.ts';
import { printResult } from '../../framework/output.ts';
import { localStep } from '../../progress/local-step.ts';
import { createVolumeSteps, perHourText } from '@millrace/sdk/text';
import { withInterruptNotice, withProgress } from '../../progress/watch.ts';
import { findRentalId } from '../../rentals/find.ts';
import { parseTagFlags } from '../../rentals/flags.ts';
import type { Input } from '../../sdk.ts';
import { findVolume } from '../../volumes/find.ts';
import { volumePrice } from '../../volumes/price.ts';

export const command = defineCommand({
  name: 'volume create',
  summary: 'Create a volume and wait until it can be mounted',
  description:
    'Storage that bare-metal rentals in its region can mount over NFS, several at a time. It is billed per GB and hour while it is active, attached or not, until it is deleted.',
  positionals: [{ name: 'label', describe: 'letters, digits, _ and -; unique among your volumes' }],
  flags: {
    region: {
      type: 'text',
      value: 'REGION',
      required: true,
      describe: 'the region; rentals in the region can mount it',
    },
    'size-gb': {
      type: 'number',
      integer: true,
      min: 256,
      value: 'GB',
      required: true,
      describe: 'in steps of 256',
    },
    attach: { type: 'list', value: 'RENTAL', describe: 'attach it to this rental' },
    'max-usd': { type: 'number', min: 0, value: 'USD', describe: 'delete it before it costs more' },
    tag: { type: 'list', value: 'NAME=VALUE', describe: 'a tag' },
    wait: { type: 'boolean', describe: 'wait until it is active; --no-wait returns immediately' },
  },
  examples: {
    'millrace volume create datasets --region eu-west-3 --size-gb 1024': 'One terabyte',
    'millrace volume create scratch --region eu-west-3 --size-gb 256 --attach train --yes':
      'For a running rental, in a script',
  },
  operations: [
    'listStorageVolumes',
    'createStorageVolume',
    'quoteStorageVolume',
    'listVirtualMachineRentals',
    'listBareMetalRentals',
  ],
  json: 'record',
  failure: 'Could not create the volume.',
  async run(context, { args, flags }) {
    const { signal } = context;
    const region = flags.region as Input<'createStorageVolume'>['region'];
    const rentalIds = await Promise.all(flags.attach.map((words) => findRentalId(context, words)));
    const price = await volumePrice(context, region, flags['size-gb']);
    context.note(`${args.label}: ${flags['size-gb']} GB in ${region} for ${price}, until it is deleted`);
    await context.confirm('Create it?');
    const made = await context.client().volumes.create(
      {
        region,
        label: args.label,
        sizeInGb: flags['size-gb'],
        maxUsd: flags['max-usd'],
        tags: parseTagFlags(flags.tag),
        ...(rentalIds.length === 0 ? {} : { rentalIds }),
      },
      { signal },
    );
    const { storageVolumeId } = made;
    if (flags.wait === false) {
      const volume = await findVolume(context, String(storageVolumeId));
      printResult(
        context,
        `Volume ${storageVolumeId} (${args.label}) is being created. See: millrace volume list`,
        volume,
      );
      return;
    }
    const unwatched = {
      goesOn: `Volume ${storageVolumeId} is still being created. Billing starts when it is active.`,
      watchAgain: `millrace volume get ${storageVolumeId}`,
      undo: `millrace volume delete ${storageVolumeId}`,
    };
    const volume = await withInterruptNotice(
      context,
      unwatched,
      withProgress(context, createVolumeSteps, async (show) => {
        const serving = localStep(context, 'serve');
        show([serving.running]);
        const active = await context.client().volumes.waitUntil({ storageVolumeId }, 'active', { signal });
        show([serving.done()]);
        return active;
      }),
    );
    if (volume === null)
      throw new CliError(`Volume ${storageVolumeId} does not exist anymore.`, {
        fix: 'See: millrace volume list',
      });
    const sentence = `Volume ${volume.id} (${volume.label}) is active at ${volume.vip} for ${perHourText(volume.costPerHour)}.`;
    printResult(context, sentence, volume);
  },
});
