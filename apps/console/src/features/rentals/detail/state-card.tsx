import { elapsedText } from '@millrace/sdk/text';
import { Money, PerHour } from '../../../ui/money.tsx';
import { KeyFigures } from '../../../ui/page.tsx';
import { Note } from '../../../ui/states.tsx';
import { RelativeTime, useNow, Timestamp } from '../../../ui/time.tsx';
import { stateDescription } from '../actions.ts';
import { rentalBilling } from '../billing.ts';
import { hasFailed, hasEnded, type Rental } from '../rental.ts';
import { isTerminationStuck, rentalProgress } from '../steps.ts';
import { StepList } from './step-list.tsx';
import { LinkButton } from '../../../ui/link.tsx';

/** What its state means, what it bills right now, and how far it is on its way to another. */
export function StateCard({ rental }: Readonly<{ rental: Rental }>) {
  const billing = rentalBilling(rental);
  const end = rental.currentTerm.reservationEndsAt ?? rental.currentTerm.reservedUntil ?? rental.expiresAt;
  return (
    <>
      <section aria-label="State" className="border-line bg-surface mb-4 rounded-lg border p-4">
        <p>
          <strong>{rental.status}:</strong> {stateDescription(rental)}
        </p>
        <p className="text-soft">{billing.words}</p>
        <FailureNote rental={rental} />
        <Progress rental={rental} />
      </section>
      <KeyFigures
        items={[
          {
            label: 'Price',
            value: <PerHour usd={rental.currentTerm.costPerHour} />,
            note: 'agreed when it was made',
          },
          {
            label: 'Billed right now',
            value: (
              <>
                <Money nano={billing.perHour} />
                <span className="text-soft text-sm font-normal">/h</span>
              </>
            ),
          },
          { label: 'Spent so far', value: <Money nano={rental.costSoFarNanoUsd} /> },
          {
            label: rental.startedAt === null ? 'Made' : hasEnded(rental) ? 'Ran from' : 'Runs since',
            value: (
              <span className="text-base">
                <RelativeTime at={rental.startedAt ?? rental.createdAt} />
              </span>
            ),
            note: <Timestamp at={rental.startedAt ?? rental.createdAt} />,
          },
          hasEnded(rental) ? endedFigure(rental) : endsFigure(end),
        ]}
      />
    </>
  );
}

function endedFigure({ terminatedAt }: Rental) {
  return terminatedAt === null
    ? { label: 'Ended', value: <span className="text-base">is being ended</span> }
    : {
        label: 'Ended',
        value: (
          <span className="text-base">
            <RelativeTime at={terminatedAt} />
          </span>
        ),
        note: <Timestamp at={terminatedAt} />,
      };
}

function endsFigure(end: string | null) {
  return end === null
    ? { label: 'Ends', value: <span className="text-base">when you end it</span> }
    : {
        label: 'Ends',
        value: (
          <span className="text-base">
            <RelativeTime at={end} />
          </span>
        ),
        note: <Timestamp at={end} />,
      };
}

/** What went wrong, why, what it cost, and what to do. */
function FailureNote({ rental }: Readonly<{ rental: Rental }>) {
  const now = useNow(1_000);
  const { status, statusReason, billingPausedAt } = rental;
  if (hasFailed(rental)) {
    return (
      <div className="mt-3 flex flex-col gap-2">
        <Note tone="bad">
          <p className="font-medium">{statusReason ?? 'It could not be delivered.'}</p>
          <p>
            {rental.startedAt === null ? (
              'It cost nothing, and what was set aside for it is yours again.'
            ) : (
              <>
                It was billed to the last good sign of its host: <Money nano={rental.costSoFarNanoUsd} />.
              </>
            )}{' '}
            Rent another, in another region if there is one; what happened is under Events.
          </p>
        </Note>
        <div>
          <LinkButton to="/" kind="primary">
            Back to the catalog
          </LinkButton>
        </div>
      </div>
    );
  }
  if (status === 'Unknown') {
    return (
      <div className="mt-3">
        <Note tone="warn">
          <p>
            Nothing was heard of its host since <Timestamp at={billingPausedAt ?? rental.statusSince} />. Your
            machine may well be running; we just cannot see it. You need not do anything: it is shown as
            running again with the first answer.
          </p>
          {billingPausedAt === null ? (
            <p>Billing pauses 5 minutes after the last good sign.</p>
          ) : (
            <p>
              It is not billed since <Timestamp at={billingPausedAt} />.
            </p>
          )}
          {statusReason !== null && <p>{statusReason}</p>}
        </Note>
      </div>
    );
  }
  if (isTerminationStuck(rental, now)) {
    const lasted = elapsedText(now - Date.parse(rental.statusSince));
    return (
      <div className="mt-3">
        <Note tone="warn">
          The machine has not been released yet, after {lasted}. It costs you nothing, and nobody can get in
          any more. We go on trying, and the operator is told.
        </Note>
      </div>
    );
  }
  // Why it was ended is told among the facts.
  return statusReason === null || hasEnded(rental) ? null : <p className="mt-2">{statusReason}</p>;
}

function Progress({ rental }: Readonly<{ rental: Rental }>) {
  const now = useNow(500);
  const steps = rentalProgress(rental, now);
  if (steps === null) return null;
  const running = steps.find(({ status }) => status === 'running');
  return (
    <div className="mt-3">
      <StepList steps={steps} label="Steps" />
      <p role="status" className="sr-only">
        {running === undefined ? 'Waiting for the next step' : `Step ${running.name}: ${running.does ?? ''}`}
      </p>
    </div>
  );
}
