import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { findRentalId } from '../../rentals/find.ts';
import { findVolume } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume detach',
  summary: 'Keep rentals from a volume',
  description:
    'Unmount it there first: within about a second the storage server refuses them, also with files open.',
  positionals: [
    { name: 'volume', describe: 'its label or number' },
    { name: 'rentals', describe: 'their names or numbers', many: true },
  ],
  examples: {
    'millrace volume detach datasets train': 'Asks first',
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
      `Keep ${rentalIds.join(', ')} from volume ${storageVolumeId} (${label})? Files that are open there are cut off.`,
    );
    const { signal } = context;
    const response = await context.client().volumes.detach({ storageVolumeId, rentalIds }, { signal });
    printResult(
      context,
      `Volume ${storageVolumeId} (${label}) is closed to ${rentalIds.join(', ')}.`,
      response,
    );
  },
});
