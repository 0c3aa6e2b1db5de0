import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import type { Context } from '../../framework/context.ts';
import { safeText } from '../../framework/text.ts';
import { modeOf, withLive } from '../../money/mode.ts';
import { findRental, handleOf } from '../../rentals/find.ts';
import { waitUntilTerminated, waitForRental } from '../../rentals/wait-for-rental.ts';
import type { Output } from '../../sdk.ts';
import { usdText } from '@millrace/sdk/text';

type Receipt = Output<'terminateVirtualMachineRental'>;

export const command = defineCommand({
  name: 'rental terminate',
  summary: 'Terminate a rental and delete its machine and disk',
  description:
    'Billing stops when the request is accepted; the output is the receipt. All data on the disk is lost; volumes are kept. Terminating twice returns the same receipt.',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  flags: {
    reason: { type: 'text', value: 'TEXT', describe: 'a reason, for the record' },
    wait: { type: 'boolean', describe: 'also wait until the machine is deleted' },
  },
  examples: {
    'millrace rental terminate train': 'Asks for confirmation',
    'millrace rental terminate 1042 --yes --json': 'In a script, with the receipt',
  },
  operations: [
    'terminateVirtualMachineRental',
    'terminateBareMetalRental',
    'getRental',
    'getRentalCost',
    'listVirtualMachineRentals',
    'listBareMetalRentals',
    'listRentalHistory',
  ],
  json: 'record',
  failure: 'Could not terminate the rental.',
  async run(context, { args, flags }) {
    const rental = await findRental(context, args.rental, { ended: true });
    const hasEnded = rental.status === 'Terminated' || rental.status === 'Terminating';
    if (!hasEnded) {
      const what = `${rental.gpuCount} × ${rental.gpuType} in ${rental.region}`;
      await context.confirm(
        `Terminate rental ${rental.id} (${handleOf(rental)}, ${what})? All data on its disk is lost.`,
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
    const live = modeOf(context) === 'test' ? await liveCostOf(context, rental.id) : undefined;
    printResult(context, receiptText(receipt, handleOf(rental), live), receipt);
  },
});

/** Undefined if live mode has no price. */
async function liveCostOf({ client, signal }: Context, rentalId: number): Promise<string | undefined> {
  return (await client().rentals.getCost({ rentalId }, { signal })).liveTotalNanoUsd;
}

function receiptText(receipt: Receipt, handle: string, live: string | undefined): string {
  const { commitment } = receipt;
  const stopped =
    receipt.billingStoppedAt === null
      ? 'It was never billed.'
      : `Billing stopped at ${receipt.billingStoppedAt}.`;
  const owed =
    commitment == null
      ? ''
      : `\nFor the remaining term you owe ${usdText(commitment.owedNanoUsd)}; ${usdText(commitment.refundNanoUsd)} was refunded (${commitment.refundPercentage} %).`;
  const cost = withLive(usdText(receipt.finalCost.nanoUsd), live);
  return `Terminated rental ${receipt.rentalId} (${safeText(handle)}). It cost ${cost}. ${stopped}${owed}`;
}
