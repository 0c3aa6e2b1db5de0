import type { Output } from '@millrace/sdk';
import { usdText } from '@millrace/sdk/text';
import { ConfirmDialog } from '../../../ui/dialog.tsx';
import { Money, PerHour } from '../../../ui/money.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { rentalTitle, rentalHardwareText, type Rental } from '../rental.ts';

type Receipt = Output<'terminateVirtualMachineRental'>;

/** The end: what is lost, what it came to, and what goes on costing. */
export function TerminateDialog(props: Readonly<{ rental: Rental; open: boolean; onClose: () => void }>) {
  const { rental, open, onClose } = props;
  const { id: rentalId, currentTerm } = rental;
  const volumes = rental.attachedStorage ?? [];
  return (
    <ConfirmDialog
      title={`Terminate ${rentalTitle(rental)}?`}
      open={open}
      onClose={onClose}
      action="Terminate"
      doing="Terminating…"
      run={(client): Promise<Receipt> =>
        rental.rentalType === 'bare-metal'
          ? client.rentals.terminateBareMetal({ rentalId })
          : client.rentals.terminateVirtualMachine({ rentalId })
      }
      changes={['rentals', 'volumes', 'money', 'catalog']}
      onDone={(toast, { finalCost }) => {
        const cost = usdText(finalCost.nanoUsd);
        toast(`${rentalTitle(rental)} is being ended`, `Billing has stopped. It cost ${cost}.`);
      }}
    >
      <p>
        {rentalHardwareText(rental)} in {rental.region} is ended at once. This cannot be undone.
      </p>
      <p>
        {rental.startedAt === null
          ? 'It has not run yet, so nothing is lost and nothing is billed.'
          : 'Everything on its disk is lost.'}
      </p>
      {rental.startedAt !== null && (
        <p>
          Billing stops with your confirmation. So far it has cost <Money nano={rental.costSoFarNanoUsd} />.
        </p>
      )}
      {currentTerm.termType === 'reserved' && currentTerm.reservedUntil !== null && (
        <p>
          It is reserved until <Timestamp at={currentTerm.reservedUntil} />. What is left of the term stays
          owed, less what its terms give back; the receipt says both to the last digit.
        </p>
      )}
      {volumes.length === 0 ? (
        <p>Nothing of it costs anything afterwards.</p>
      ) : (
        <div>
          <p>These volumes stay, with their data, and cost on until you delete them:</p>
          <ul className="list-disc pl-5">
            {volumes.map(({ id, label, cost_per_hour: perHour }) => (
              <li key={id}>
                {label}: <PerHour usd={perHour} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </ConfirmDialog>
  );
}
