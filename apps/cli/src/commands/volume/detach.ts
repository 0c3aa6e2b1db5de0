import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { findRentalId } from '../../rentals/find.ts';
import { findVolume } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume detach',
  summary: 'Detach a volume from rentals',
  description:
    'Unmount it first: within about a second the storage server refuses access, also to open files.',
  positionals: [
    { name: 'volume', describe: 'label or id of the volume' },
    { name: 'rentals', describe: 'names or ids of the rentals', many: true },
  ],
  examples: {
    'millrace volume detach datasets train': 'Asks for confirmation',
    'millrace volume detach 7 1042 --yes': 'In a script',
  },
  operations: [
    'detachStorageVolume',
    'listStorageVolumes',
    'listVirtualMachineRentals',
    'listBareMetalRentals',
  ],
  json: 'record',
  failure: 'Could not detach the volume.',
  async run(context, { args }) {
    const { id: storageVolumeId, label } = await findVolume(context, args.volume);
    const rentalIds = await Promise.all(args.rentals.map((words) => findRentalId(context, words)));
    await context.confirm(
      `Detach volume ${storageVolumeId} (${label}) from ${rentalIds.join(', ')}? Open files there become inaccessible.`,
    );
    const { signal } = context;
    const response = await context.client().volumes.detach({ storageVolumeId, rentalIds }, { signal });
    printResult(
      context,
      `Detached volume ${storageVolumeId} (${label}) from ${rentalIds.join(', ')}.`,
      response,
    );
  },
});
