import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { findRentalId } from '../../rentals/find.ts';
import { findVolume } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume attach',
  summary: 'Attach a volume to rentals',
  description: 'The rentals must be bare metal in the region of the volume. All are attached, or none.',
  positionals: [
    { name: 'volume', describe: 'label or id of the volume' },
    { name: 'rentals', describe: 'names or ids of the rentals', many: true },
  ],
  examples: {
    'millrace volume attach datasets train': 'To one rental',
    'millrace volume attach 7 1042 1043': 'To two rentals, by id',
  },
  operations: [
    'attachStorageVolume',
    'listStorageVolumes',
    'listVirtualMachineRentals',
    'listBareMetalRentals',
  ],
  json: 'record',
  failure: 'Could not attach the volume.',
  async run(context, { args }) {
    const { id: storageVolumeId, vip, label } = await findVolume(context, args.volume);
    const rentalIds = await Promise.all(args.rentals.map((words) => findRentalId(context, words)));
    const { signal } = context;
    const response = await context.client().volumes.attach({ storageVolumeId, rentalIds }, { signal });
    printResult(
      context,
      `${rentalIds.join(', ')} can mount volume ${storageVolumeId} (${label}) from ${vip}.`,
      response,
    );
  },
});
