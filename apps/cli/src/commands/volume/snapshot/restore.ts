import { perHourText, restoreVolumeSteps } from '@millrace/sdk/text';
import { defineCommand } from '../../../framework/command.ts';
import type { Context } from '../../../framework/context.ts';
import { CliError, UsageError } from '../../../framework/errors.ts';
import { printResult } from '../../../framework/output.ts';
import { localStep } from '../../../progress/local-step.ts';
import { withInterruptNotice, withProgress } from '../../../progress/watch.ts';
import { parseTagFlags } from '../../../rentals/flags.ts';
import { findVolume, type Volume } from '../../../volumes/find.ts';
import { volumePrice } from '../../../volumes/price.ts';

export const command = defineCommand({
  name: 'volume snapshot restore',
  summary: 'Restore a snapshot into a new volume, or in place',
  description:
    '--label restores the snapshot into a new volume with this label, which is billed per GB and hour once it is active. --in-place replaces the content of the volume of the snapshot: everything written since is lost, and the price stays. That volume must not be attached to a rental.',
  positionals: [
    { name: 'volume', describe: 'label or id of the volume' },
    { name: 'snapshot', describe: 'id of the snapshot' },
  ],
  flags: {
    label: { type: 'text', value: 'LABEL', describe: 'the label of the new volume' },
    'in-place': { type: 'boolean', describe: 'replace the content of the volume' },
    'size-gb': {
      type: 'number',
      integer: true,
      min: 256,
      value: 'GB',
      describe:
        'the size of the new volume, in steps of 256; at least the size of the volume when the snapshot was taken',
    },
    'max-usd': {
      type: 'number',
      min: 0,
      value: 'USD',
      describe: 'delete the new volume before it costs more',
    },
    tag: { type: 'list', value: 'NAME=VALUE', describe: 'a tag of the new volume' },
    wait: { type: 'boolean', describe: 'wait until the volume is active; --no-wait returns immediately' },
  },
  examples: {
    'millrace volume snapshot restore datasets snp_01JD8Q7XK4T2M9V6B3N5C1F0GH --label datasets-old':
      'Into a new volume; the existing volume is not changed',
    'millrace volume snapshot restore 7 snp_01JD8Q7XK4T2M9V6B3N5C1F0GH --in-place --yes':
      'In place: volume 7 gets the content of the snapshot; for a script',
  },
  operations: [
    'restoreStorageVolumeSnapshot',
    'listStorageVolumeSnapshots',
    'listStorageVolumes',
    'quoteStorageVolume',
    'getStorageVolume',
  ],
  json: 'record',
  failure: 'Could not restore the snapshot.',
  async run(context, { args, flags }) {
    const { signal } = context;
    const source = await findVolume(context, args.volume);
    const isInPlace = flags['in-place'] === true;
    if (isInPlace === (flags.label !== undefined)) {
      throw new UsageError('The target of the restore is missing.', {
        fix: 'Use --label LABEL for a new volume, or --in-place for the volume of the snapshot.',
      });
    }
    const snapshotId = args.snapshot;
    const of = { storageVolumeId: source.id, snapshotId };
    const { volumes } = context.client();
    let restoring;
    if (flags.label === undefined) {
      await context.confirm(
        `Replace the content of volume ${source.id} (${source.label})? Everything written since the snapshot is lost.`,
      );
      restoring = await volumes.restoreSnapshot({ ...of, into: 'same-volume' }, { signal });
    } else {
      const sizeInGb = flags['size-gb'] ?? (await sizeOf(context, source, snapshotId));
      const price = await volumePrice(context, source.region, sizeInGb);
      context.note(`${flags.label}: ${sizeInGb} GB in ${source.region} for ${price}, until it is deleted`);
      await context.confirm('Create it?');
      const order = {
        label: flags.label,
        sizeInGb,
        maxUsd: flags['max-usd'],
        tags: parseTagFlags(flags.tag),
      };
      restoring = await volumes.restoreSnapshot({ ...of, into: 'new-volume', ...order }, { signal });
    }
    const { id: storageVolumeId, label } = restoring;
    if (flags.wait === false) {
      printResult(
        context,
        `Volume ${storageVolumeId} (${label}) is being restored. See: millrace volume get ${storageVolumeId}`,
        restoring,
      );
      return;
    }
    const active = await watch(context, storageVolumeId, isInPlace);
    if (active.statusReason !== null) {
      throw new CliError(active.statusReason, {
        fix: `Try again, or see: millrace volume get ${storageVolumeId}`,
      });
    }
    const sentence = `Volume ${storageVolumeId} (${label}) has the content of the snapshot, at ${active.vip} for ${perHourText(active.costPerHour)}.`;
    printResult(context, sentence, active);
  },
});

async function sizeOf(context: Context, { id }: Volume, snapshotId: string): Promise<number> {
  const listed = context
    .client()
    .volumes.listSnapshots({ storageVolumeId: id, limit: 200 }, { signal: context.signal });
  for await (const snapshot of listed) if (snapshot.id === snapshotId) return snapshot.volumeSizeInGb;
  throw new CliError(`Volume ${id} has no snapshot ${snapshotId}.`, {
    fix: `List its snapshots: millrace volume snapshot list ${id}`,
  });
}

async function watch(context: Context, storageVolumeId: number, isInPlace: boolean) {
  const { signal } = context;
  const { volumes } = context.client();
  const unwatched = {
    goesOn: isInPlace
      ? `Volume ${storageVolumeId} is still being restored.`
      : `Volume ${storageVolumeId} is still being created. Billing starts when it is active.`,
    watchAgain: `millrace volume get ${storageVolumeId}`,
    undo: isInPlace ? null : `millrace volume delete ${storageVolumeId}`,
  };
  const active = await withInterruptNotice(
    context,
    unwatched,
    withProgress(context, restoreVolumeSteps, async (show) => {
      const serving = localStep(context, 'serve');
      show([serving.running]);
      const volume = await volumes.waitUntil({ storageVolumeId }, 'active', { signal });
      show([serving.done()]);
      return volume;
    }),
  );
  if (active === null) {
    throw new CliError(
      `The snapshot could not be restored. Volume ${storageVolumeId} was deleted and cost nothing.`,
      {
        fix: 'Try again, or see: millrace events',
      },
    );
  }
  return volumes.get({ storageVolumeId }, { signal });
}
