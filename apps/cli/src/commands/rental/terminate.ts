import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { safeText } from '../../framework/text.ts';
import { findRental, handleOf } from '../../rentals/find.ts';
import { waitUntilTerminated, waitForRental } from '../../rentals/wait-for-rental.ts';
import type { Output } from '../../sdk.ts';
import { usdText } from '@millrace/sdk/text';

type Receipt = Output<'terminateVirtualMachineRental'>;

export const command = defineCommand({
  name: 'rental terminate',
  summary: 'End a rental: its machine and disk are deleted',
  description:
    'Billing stops with the accepted request, and what is printed is the receipt. What is on the disk is gone; volumes stay. Ending it twice gives the same receipt.',
  positionals: [{ name: 'rental', describe: 'its name or number' }],
  flags: {
    reason: { type: 'text', value: 'TEXT', describe: 'why, for the record' },
    wait: { type: 'boolean', describe: 'also wait until the machine is gone' },
  },
  examples: {
    'millrace rental terminate train': 'Asks first',
    'millrace rental terminate 1042 --yes --json': 'In a script, with the receipt',
  },
  operations: [
    'terminateVirtualMachineRental',
    'terminateBareMetalRental',
    'getRental',
    'listVirtualMachineRentals',
    'listBareMetalRentals',
    'listRentalHistory',
  ],
  json: 'record',
  failure: 'Could not end the rental.',
  async run(context, { args, flags }) {
    const rental = await findRental(context, args.rental, { ended: true });
    const hasEnded = rental.status === 'Terminated' || rental.status === 'Terminating';
    if (!hasEnded) {
      const what = `${rental.gpuCount} × ${rental.gpuType} in ${rental.region}`;
      await context.confirm(
        `End rental ${rental.id} (${handleOf(rental)}, ${what})? Everything on its disk is lost.`,
      );
    }
    const { rentals } = context.client();
    const body = { rentalId: rental.id, reason: flags.reason };
    const { signal } = context;
    const receipt =
      rental.rentalType === 'bare-metal'
        ? await rentals.terminateBareMetal(body, { signal })
        : await rentals.terminateVirtualMachine(body, { signal });
    if (flags.wait === true) await waitForRental(context, rental.id, waitUntilTerminated(rental));
    printResult(context, receiptText(receipt, handleOf(rental)), receipt);
  },
});

function receiptText(receipt: Receipt, handle: string): string {
  const { commitment } = receipt;
  const stopped =
    receipt.billingStoppedAt === null
      ? 'It was never billed.'
      : `Billing stopped at ${receipt.billingStoppedAt}.`;
  const owed =
    commitment == null
      ? ''
      : `\nOf its term ${usdText(commitment.owedNanoUsd)} stay owed, and ${usdText(commitment.refundNanoUsd)} were given back (${commitment.refundPercentage} %).`;
  const cost = usdText(receipt.finalCost.nanoUsd);
  return `Rental ${receipt.rentalId} (${safeText(handle)}) has ended. It cost ${cost}. ${stopped}${owed}`;
}
