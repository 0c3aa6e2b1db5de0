import { useState } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Note, Problem } from '../../ui/states.tsx';
import { integerParam } from './filters.ts';
import { Form } from '../../ui/form.tsx';

/** Sends the operator a request for more capacity. */
export function ReservationForm({ gpuCount }: Readonly<{ gpuCount: number }>) {
  const { mayNot } = useSession();
  const [text, setText] = useState(String(gpuCount));
  const count = integerParam(text.trim());
  const request = useApiMutation(
    (client, wanted: number) => client.rentals.requestReservation({ gpuCount: wanted }),
    { changes: ['rentals'] },
  );
  if (request.data !== undefined) {
    return <Note tone="good">{request.data.message}. The operator will contact you.</Note>;
  }
  return (
    <Form
      className="border-line flex flex-col gap-2 border-t pt-3"
      onSend={() => {
        if (count !== undefined && !request.isPending) request.mutate(count);
      }}
    >
      <h3>Request a reservation</h3>
      <p className="text-soft">
        Request the number of GPUs that you need. The request is free and does not reserve capacity.
      </p>
      <TextField
        label="Number of GPUs"
        inputMode="numeric"
        value={text}
        onValue={setText}
        error={count === undefined ? 'Enter a whole number of 1 or more.' : undefined}
      />
      {request.error !== null && <Problem error={request.error} doing="send the request" />}
      <div>
        <Button
          type="submit"
          busy={request.isPending && 'Sending…'}
          off={mayNot('rentals:write') || (count === undefined && 'Enter the number of GPUs.')}
        >
          Request a reservation
        </Button>
      </div>
    </Form>
  );
}
