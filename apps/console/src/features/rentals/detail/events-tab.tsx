import { eventDescriptions, isEventType } from '@millrace/contract/event-types';
import { History } from 'lucide-react';
import { useApiQuery } from '../../../api/queries.ts';
import { Card } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { Table } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { hasEnded, type Rental } from '../rental.ts';

const MAX_EVENTS = 500;

export function EventsTab({ rental }: Readonly<{ rental: Rental }>) {
  const { id: rentalId } = rental;
  const query = useApiQuery(
    ['rentals', 'one', rentalId, 'events'],
    (client, signal) =>
      client.rentals.listEvents({ rentalId, limit: 200 }, { signal }).all({ max: MAX_EVENTS }),
    { refetchMs: hasEnded(rental) ? 10_000 : 5_000 },
  );
  return (
    <Card title="Events" flush>
      <QueryView query={query} what="events">
        {(events) =>
          events.length === 0 ? (
            <EmptyState icon={History} title="No events yet">
              Events appear here as they happen.
            </EmptyState>
          ) : (
            <Table
              caption="Events of this rental, newest first"
              rows={events.toReversed()}
              columns={[
                {
                  head: 'Event',
                  main: true,
                  cell: ({ type }) => (
                    <>
                      <code>{type}</code>
                      {isEventType(type) && (
                        <span className="text-soft block text-xs font-normal">{eventDescriptions[type]}</span>
                      )}
                    </>
                  ),
                },
                { head: 'Time', cell: ({ occurredAt }) => <Timestamp at={occurredAt} /> },
                { head: 'Actor', cell: ({ actor }) => actor.kind },
                { head: 'Details', cell: ({ data }) => <Details data={data} /> },
              ]}
            />
          )
        }
      </QueryView>
    </Card>
  );
}

function Details({ data }: Readonly<{ data: unknown }>) {
  return (
    <details className="text-left">
      <summary className="text-soft text-xs">Show</summary>
      <pre className="bg-raised mt-1 max-w-full overflow-x-auto rounded p-2 whitespace-pre-wrap break-words">
        {JSON.stringify(data, null, 2)}
      </pre>
    </details>
  );
}
