import { elapsedText } from '@millrace/sdk/text';
import { LiveCost, Money, PerHour } from '../../../ui/money.tsx';
import { KeyFigures } from '../../../ui/page.tsx';
import { Note } from '../../../ui/states.tsx';
import { RelativeTime, useNow, Timestamp } from '../../../ui/time.tsx';
import { stateDescription } from '../actions.ts';
import { rentalBilling } from '../billing.ts';
import { LiveTotal } from '../live-total.tsx';
import { hasFailed, hasEnded, type Rental } from '../rental.ts';
import { isTerminationStuck, rentalProgress } from '../steps.ts';
import { StepList } from './step-list.tsx';
import { LinkButton } from '../../../ui/link.tsx';
import { withLocalTimes } from '../../../ui/logic/local-times.ts';

export function StateCard({ rental }: Readonly<{ rental: Rental }>) {
  const billing = rentalBilling(rental);
  const end = rental.currentTerm.reservationEndsAt ?? rental.currentTerm.reservedUntil ?? rental.expiresAt;
  return (
    <>
      <section aria-label="Status" className="border-line bg-surface mb-block rounded-lg border p-4">
        <p>
          <strong>{isPoweredOff(rental) ? 'Off' : rental.status}:</strong> {stateDescription(rental)}
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
            note: (
              <>
                <LiveCost nano={rental.liveCostPerHourNanoUsd} perHour />
                fixed at creation
              </>
            ),
          },
          {
            label: 'Current rate',
            value: <PerHour nano={billing.perHour} />,
            note: <LiveCost nano={billing.livePerHour ?? undefined} perHour />,
          },
          {
            label: 'Spent so far',
            value: <Money nano={rental.costSoFarNanoUsd} />,
            note: <LiveTotal rental={rental} />,
          },
          {
            label: startLabel(rental),
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

const isPoweredOff = ({ status, power }: Rental): boolean => status === 'Running' && power === 'off';

function startLabel(rental: Rental): string {
  if (rental.startedAt === null) return 'Created';
  if (hasEnded(rental)) return 'Ran from';
  return isPoweredOff(rental) ? 'First started' : 'Running since';
}

function endedFigure({ terminatedAt }: Rental) {
  return terminatedAt === null
    ? { label: 'Ended', value: <span className="text-base">terminating</span> }
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
    ? { label: 'Ends', value: <span className="text-base">no end set</span> }
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

function FailureNote({ rental }: Readonly<{ rental: Rental }>) {
  const now = useNow(1_000);
  const { status, billingPausedAt } = rental;
  const statusReason = rental.statusReason === null ? null : withLocalTimes(rental.statusReason);
  if (hasFailed(rental)) {
    return (
      <div className="mt-3 flex flex-col gap-2">
        <Note tone="bad">
          <p className="font-medium">{statusReason ?? 'Provisioning failed.'}</p>
          <p>
            {rental.startedAt === null ? (
              'You were not charged, and the held money was released.'
            ) : (
              <>
                Billed until the host last responded: <Money nano={rental.costSoFarNanoUsd} />.
              </>
            )}{' '}
            Rent another machine, or choose another region. See Events for details.
          </p>
        </Note>
        <div>
          <LinkButton to="/catalog" kind="primary">
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
            {statusReason ?? (
              <>
                The host has not responded since <Timestamp at={billingPausedAt ?? rental.statusSince} />.
              </>
            )}{' '}
            Your machine may still be running. You need not do anything: the status changes to Running when
            the host responds.
          </p>
          {billingPausedAt === null ? (
            <p>Billing pauses 5 minutes after the last response.</p>
          ) : (
            <p>
              Not billed since <Timestamp at={billingPausedAt} />.
            </p>
          )}
        </Note>
      </div>
    );
  }
  if (isTerminationStuck(rental, now)) {
    const lasted = elapsedText(now - Date.parse(rental.statusSince));
    return (
      <div className="mt-3">
        <Note tone="warn">
          The machine has not been deleted yet, after {lasted}. You are not billed, and logins are blocked. We
          keep retrying and have notified the operator.
        </Note>
      </div>
    );
  }
  // The details card shows the termination reason.
  return statusReason === null || hasEnded(rental) ? null : <p className="mt-2">{statusReason}</p>;
}

function Progress({ rental }: Readonly<{ rental: Rental }>) {
  const now = useNow(500);
  const steps = rentalProgress(rental, now);
  if (steps === null) return null;
  const running = steps.find(({ status }) => status === 'running');
  return (
    <div className="mt-3">
      <StepList steps={steps} label="Provisioning" />
      <p role="status" className="sr-only">
        {running === undefined ? 'Waiting for the next step' : `Now: ${running.title}`}
      </p>
    </div>
  );
}
