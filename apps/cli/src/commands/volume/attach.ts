import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { findRentalId } from '../../rentals/find.ts';
import { findVolume } from '../../volumes/find.ts';

export const command = defineCommand({
  name: 'volume attach',
  summary: 'Let rentals mount a volume',
  description: 'The rentals are bare metal in the region of the volume. All of them or none.',
  positionals: [
    { name: 'volume', describe: 'its label or number' },
    { name: 'rentals', describe: 'their names or numbers', many: true },
  ],
  examples: {
    'millrace volume attach datasets train': 'To one rental',
    'millrace volume attach 7 1042 1043': 'To two, by number',
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
      `Volume ${storageVolumeId} (${label}) can be mounted from ${vip} by ${rentalIds.join(', ')}.`,
      response,
    );
  },
});
