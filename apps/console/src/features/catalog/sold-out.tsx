import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession, useSessionIfAny } from '../../app/session.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Note, Problem, Shown } from '../../ui/states.tsx';
import { Explanation } from '../create/explanation.tsx';
import { picksFor, wireWishOf, wishOf } from '../create/picks.ts';
import { wholeOf } from './filters.ts';
import { machineWords, type Offer } from './offers.ts';

/** What can be done about something that cannot be had now. */
export function SoldOut({ offer, onClose }: { readonly offer: Offer; readonly onClose: () => void }) {
  const session = useSessionIfAny();
  const { gpuCount, gpuType, region, machineType } = offer;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${String(gpuCount)} × ${gpuType.toUpperCase()}: none free in ${region}`}
      about={machineWords(machineType)}
    >
      {session === null ? <ForVisitors /> : <ForMembers offer={offer} />}
    </Dialog>
  );
}

function ForVisitors() {
  return (
    <div className="flex flex-col gap-3">
      <p>
        Sign in to see why, when it is expected to be free again and what you could have instead, or to ask
        for a reservation.
      </p>
      <div>
        <Link to="/sign-in" search={{ next: '/' }} className={buttonClass('primary')}>
          Sign in
        </Link>
      </div>
    </div>
  );
}

function ForMembers({ offer }: { readonly offer: Offer }) {
  const wish = wishOf(picksFor(offer), [offer]);
  const explained = useApiQuery(
    ['catalog', 'explain', wish],
    async (client, signal) => (wish === null ? null : client.options.explain(wireWishOf(wish), { signal })),
    { refetchMs: 10_000 },
  );
  return (
    <div className="flex flex-col gap-4">
      <Shown query={explained} what="reason">
        {(answer) =>
          answer === null || wish === null ? null : <Explanation wish={wish} explained={answer} />
        }
      </Shown>
      <ReservationForm gpuCount={offer.gpuCount} />
    </div>
  );
}

/** Tells the operator that more is wanted than can be had. */
export function ReservationForm({ gpuCount }: { readonly gpuCount: number }) {
  const { mayNot } = useSession();
  const [text, setText] = useState(String(gpuCount));
  const count = wholeOf(text.trim());
  const request = useApiMutation(
    (client, wanted: number) => client.rentals.requestReservation({ gpuCount: wanted }),
    { changes: ['rentals'] },
  );
  if (request.data !== undefined) {
    return <Note tone="good">{request.data.message}. The operator has it now and will be in touch.</Note>;
  }
  return (
    <form
      className="border-line flex flex-col gap-2 border-t pt-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (count !== undefined && !request.isPending) request.mutate(count);
      }}
    >
      <h3>Ask for a reservation</h3>
      <p className="text-soft">
        The operator is told that your organisation wants so many GPUs. Nothing is set aside and nothing costs
        anything by asking.
      </p>
      <TextField
        label="How many GPUs"
        inputMode="numeric"
        value={text}
        onChange={(event) => setText(event.target.value)}
        error={count === undefined ? 'A whole number from 1.' : undefined}
      />
      {request.error !== null && <Problem error={request.error} doing="send the request" />}
      <div>
        <Button
          type="submit"
          busy={request.isPending && 'Sending…'}
          off={mayNot('rentals:write') || (count === undefined && 'Say how many GPUs first.')}
        >
          Request a reservation
        </Button>
      </div>
    </form>
  );
}
