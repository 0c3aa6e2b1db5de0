import { useState } from 'react';
import { rentalHandle } from '@millrace/sdk/text';
import { useApiMutation, useApiQuery } from '../../../api/queries.ts';
import { fieldIssue } from '../../../api/problem.ts';
import { Button } from '../../../ui/button.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { TextField } from '../../../ui/field.tsx';
import { LiveCost, Money } from '../../../ui/money.tsx';
import { useDebounced } from '../../../ui/logic/use-debounced.ts';
import { Problem, QueryView } from '../../../ui/states.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { useToast } from '../../../ui/toast.tsx';
import { rentalTitle, type Rental } from '../rental.ts';
import { Form } from '../../../ui/form.tsx';

const hourSeconds = 3_600;

/** Extends a reserved term from its end, or the time to live. */
export function ExtendDialog({ rental, onClose }: Readonly<{ rental: Rental; onClose: () => void }>) {
  const isReserved = rental.currentTerm.termType === 'reserved';
  const [text, setText] = useState(isReserved ? String(rental.currentTerm.termPeriodDays ?? 30) : '4');
  const toast = useToast();
  const count = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  const extend = useApiMutation(
    (client, much: number) =>
      isReserved
        ? client.rentals.extend({ rentalId: rental.id, termPeriodDays: much })
        : client.rentals.extend({ rentalId: rental.id, ttlSeconds: much * hourSeconds }),
    {
      changes: ['rentals', 'money'],
      onSuccess: () => {
        toast(`Extended ${rentalTitle(rental)}`);
        onClose();
      },
    },
  );
  const end = rental.currentTerm.reservationEndsAt ?? rental.currentTerm.reservedUntil ?? rental.expiresAt;
  const how = isReserved ? `--days ${String(count)}` : `--by ${String(count)}h`;
  return (
    <Dialog
      title={`Extend ${rentalTitle(rental)}`}
      about={
        end === null ? undefined : (
          <>
            Currently ends at <Timestamp at={end} />.
          </>
        )
      }
      open
      onClose={onClose}
    >
      <Form className="flex flex-col gap-4" onSend={() => extend.mutate(count)}>
        <TextField
          label={isReserved ? 'Additional days' : 'Additional hours'}
          hint={isReserved ? "From the end of the term, at today's price." : 'Added to the current end.'}
          inputMode="numeric"
          value={text}
          onValue={setText}
          error={fieldIssue(extend.error, isReserved ? 'termPeriodDays' : 'ttlSeconds')}
        />
        {isReserved && count > 0 && <TermPrice rental={rental} days={count} />}
        {extend.error !== null && <Problem error={extend.error} doing="extend the rental" />}
        <CommandHint command={`millrace rental extend ${rentalHandle(rental)} ${how}`} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            busy={extend.isPending && 'Extending…'}
            off={count < 1 && 'Enter a whole number of 1 or more.'}
          >
            Extend
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function TermPrice({ rental, days }: Readonly<{ rental: Rental; days: number }>) {
  const termPeriodDays = useDebounced(days, 300);
  const { rentalType, gpuCount, gpuType, region, connectionType: networkType } = rental;
  const request = { rentalType, gpuCount, gpuType, region, networkType, termType: 'reserved' } as const;
  const quote = useApiQuery(['catalog', 'quote', request, termPeriodDays], (client, signal) =>
    client.options.quote({ ...request, termPeriodDays }, { signal }),
  );
  return (
    <QueryView query={quote} what="price">
      {({ costPerHourNanoUsd, term, live }) => (
        <p>
          <Money nano={costPerHourNanoUsd} />
          <span className="text-soft">/h</span>
          {term !== null && (
            <>
              , <Money nano={term.committedNanoUsd} /> in total, held now
            </>
          )}
          .
          <LiveCost nano={live?.costPerHourNanoUsd} perHour />
          <LiveCost nano={live?.term?.committedNanoUsd} />
        </p>
      )}
    </QueryView>
  );
}
