import type { Output } from '@millrace/sdk';
import { usdText } from '@millrace/sdk/text';
import { ConfirmDialog } from '../../../ui/dialog.tsx';
import { LiveCost, Money, PerHour } from '../../../ui/money.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { useLivePrices } from '../../../api/use-live-volume-prices.ts';
import { LiveTotal } from '../live-total.tsx';
import { pricedVolumes, rentalTitle, rentalHardwareText, type Rental } from '../rental.ts';

type Receipt = Output<'terminateVirtualMachineRental'>;

/** Confirms termination: what is lost, the cost and what keeps billing. */
export function TerminateDialog(props: Readonly<{ rental: Rental; open: boolean; onClose: () => void }>) {
  const { rental, open, onClose } = props;
  const { id: rentalId, currentTerm } = rental;
  const volumes = pricedVolumes(rental);
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
        toast(`Terminating ${rentalTitle(rental)}`, `Billing has stopped. It cost ${cost}.`);
      }}
    >
      <p>
        {rentalHardwareText(rental)} in {rental.region} is terminated at once. You cannot undo this.
      </p>
      <p>
        {rental.startedAt === null
          ? 'The machine has not started yet, so no data is lost and nothing is billed.'
          : 'All data on its disk is deleted.'}
      </p>
      {rental.startedAt !== null && (
        <p>
          Billing stops when you confirm. Cost so far: <Money nano={rental.costSoFarNanoUsd} />.
          <LiveTotal rental={rental} />
        </p>
      )}
      {currentTerm.termType === 'reserved' && currentTerm.reservedUntil !== null && (
        <p>
          Reserved until <Timestamp at={currentTerm.reservedUntil} />. You still owe the rest of the term,
          less its refund. The receipt shows both.
        </p>
      )}
      {volumes.length === 0 ? (
        <p>You pay nothing afterwards.</p>
      ) : (
        <div>
          <p>These volumes keep their data and keep billing until you delete them:</p>
          <VolumePrices volumes={volumes} />
        </div>
      )}
    </ConfirmDialog>
  );
}

function VolumePrices({ volumes }: Readonly<{ volumes: ReturnType<typeof pricedVolumes> }>) {
  const livePriceOf = useLivePrices(volumes);
  return (
    <ul className="list-disc pl-5">
      {volumes.map((volume) => (
        <li key={volume.id}>
          {volume.label}: <PerHour usd={volume.cost_per_hour} />
          <LiveCost nano={livePriceOf(volume)} perHour />
        </li>
      ))}
    </ul>
  );
}
