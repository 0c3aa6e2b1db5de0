import { useApiQuery } from '../../api/queries.ts';
import { useSessionIfAny } from '../../api/session.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { QueryView } from '../../ui/states.tsx';
import { PlacementExplanation } from './explanation.tsx';
import { selectionForOffer, toQuoteRequest, resolveSpec } from './selection.ts';
import { machineTypeText, type Offer } from './offers.ts';
import { ReservationForm } from './reservation-form.tsx';
import { LinkButton } from '../../ui/link.tsx';

export function SoldOutDialog({ offer, onClose }: Readonly<{ offer: Offer; onClose: () => void }>) {
  const session = useSessionIfAny();
  const { gpuCount, gpuType, region, machineType } = offer;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${String(gpuCount)} × ${gpuType.toUpperCase()} is sold out in ${region}`}
      about={machineTypeText(machineType)}
    >
      {session === null ? <ForVisitors /> : <ForMembers offer={offer} />}
    </Dialog>
  );
}

function ForVisitors() {
  return (
    <div className="flex flex-col gap-3">
      <p>
        Sign in to see why, when it should be available again, and alternatives, or to request a reservation.
      </p>
      <div>
        <LinkButton to="/sign-in" search={{ next: '/catalog' }} kind="primary">
          Sign in
        </LinkButton>
      </div>
    </div>
  );
}

function ForMembers({ offer }: Readonly<{ offer: Offer }>) {
  const request = resolveSpec(selectionForOffer(offer), [offer]);
  const explained = useApiQuery(
    ['catalog', 'explain', request],
    async (client, signal) =>
      request === null ? null : client.options.explain(toQuoteRequest(request), { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <div className="flex flex-col gap-4">
      <QueryView query={explained} what="reason">
        {(response) =>
          response === null || request === null ? null : (
            <PlacementExplanation spec={request} explained={response} />
          )
        }
      </QueryView>
      <ReservationForm gpuCount={offer.gpuCount} />
    </div>
  );
}
