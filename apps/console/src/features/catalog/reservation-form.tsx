import { useState } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Note, Problem } from '../../ui/states.tsx';
import { integerParam } from './filters.ts';
import { Form } from '../../ui/form.tsx';

/** Tells the operator that more is wanted than can be had. */
export function ReservationForm({ gpuCount }: Readonly<{ gpuCount: number }>) {
  const { mayNot } = useSession();
  const [text, setText] = useState(String(gpuCount));
  const count = integerParam(text.trim());
  const request = useApiMutation(
    (client, wanted: number) => client.rentals.requestReservation({ gpuCount: wanted }),
    { changes: ['rentals'] },
  );
  if (request.data !== undefined) {
    return <Note tone="good">{request.data.message}. The operator has it now and will be in touch.</Note>;
  }
  return (
    <Form
      className="border-line flex flex-col gap-2 border-t pt-3"
      onSend={() => {
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
        onValue={setText}
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
    </Form>
  );
}
