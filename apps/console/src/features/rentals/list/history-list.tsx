import { useNavigate } from '@tanstack/react-router';
import { History } from 'lucide-react';
import { Button } from '../../../ui/button.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { RentalFilters } from './filters.tsx';
import { PAGE_SIZE, PAGES_MAX } from './paging.ts';
import { rentalTitle, rentalHardwareText, type EndedRental } from '../rental.ts';
import { daysPeriod, type RentalsSearch } from '../search.ts';
import { TextLink } from '../../../ui/link.tsx';

const columns: readonly Column<EndedRental>[] = [
  { head: 'Name', main: true, cell: (ended) => <Name ended={ended} /> },
  { head: 'Region', cell: ({ region }) => region ?? '–' },
  {
    head: 'Started',
    cell: ({ startedAt }) => (startedAt === null ? 'never ran' : <Timestamp at={startedAt} />),
  },
  {
    head: 'Ended',
    cell: ({ terminatedAt }) => (terminatedAt === null ? '' : <Timestamp at={terminatedAt} />),
  },
  { head: 'Reason', cell: ({ terminationReason }) => terminationReason ?? '' },
  { head: 'Cost', right: true, cell: ({ finalCost }) => <Money nano={finalCost.nanoUsd} /> },
];

export function HistoryList({ search }: Readonly<{ search: RentalsSearch }>) {
  const navigate = useNavigate();
  const { type, from, until } = search;
  const pages = usePages<EndedRental>(
    ['rentals', 'history', { type, from, until }],
    (client, signal) =>
      client.rentals.listHistory(
        { limit: PAGE_SIZE, ...daysPeriod(search), ...(type === undefined ? {} : { rentalType: type }) },
        { signal },
      ),
    { pagesMax: PAGES_MAX },
  );
  const isFiltered = type !== undefined || from !== undefined || until !== undefined;
  return (
    <>
      <RentalFilters search={search} />
      <Card flush>
        <PagedTable
          pages={pages}
          what="rentals"
          caption="Ended rentals"
          rowKey={({ rentalId }) => String(rentalId)}
          icon={History}
          empty={isFiltered ? 'No rentals ended in this period' : 'No ended rentals'}
          action={
            isFiltered && (
              <Button onClick={() => void navigate({ to: '/rentals', search: { view: 'history' } })}>
                Clear filters
              </Button>
            )
          }
          hint={isFiltered ? undefined : 'Terminated rentals and their cost appear here.'}
          columns={columns}
        />
      </Card>
    </>
  );
}

function Name({ ended }: Readonly<{ ended: EndedRental }>) {
  const { rentalId, name, label } = ended;
  return (
    <>
      <TextLink
        to="/rentals/$rentalId"
        params={{ rentalId: String(rentalId) }}
        className="text-accent font-medium underline-offset-2"
      >
        {rentalTitle({ id: rentalId, name, label })}
      </TextLink>
      <span className="text-soft block text-xs font-normal">{rentalHardwareText(ended)}</span>
    </>
  );
}
