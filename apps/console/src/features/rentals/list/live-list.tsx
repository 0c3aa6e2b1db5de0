import { useNavigate } from '@tanstack/react-router';
import { SearchX, Server } from 'lucide-react';
import { Button } from '../../../ui/button.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { RentalFilters } from './filters.tsx';
import { PAGE_SIZE, PAGES_MAX } from './paging.ts';
import { rentalBilling } from '../billing.ts';
import { HourlyCost } from '../hourly-cost.tsx';
import { isChanging, rentalTitle, rentalHardwareText, type Rental } from '../rental.ts';
import { RentalActions } from '../dialogs/rental-actions.tsx';
import { RentalState } from '../rental-state.tsx';
import type { RentalsSearch } from '../search.ts';
import { LinkButton, TextLink } from '../../../ui/link.tsx';

const CHANGING_REFETCH_MS = 2_000;
const IDLE_REFETCH_MS = 15_000;

const noneYet = {
  icon: Server,
  empty: 'No rentals yet',
  hint: 'A machine is ready in about a minute and is billed by the second.',
  action: (
    <LinkButton to="/catalog" kind="primary">
      Browse the catalog
    </LinkButton>
  ),
};

/** A constant, so that only rows that changed are rendered again. */
const columns: readonly Column<Rental>[] = [
  { head: 'Name', main: true, cell: (rental) => <Name rental={rental} /> },
  { head: 'Status', cell: (rental) => <RentalState rental={rental} /> },
  { head: 'Region', cell: ({ region }) => <span className="whitespace-nowrap">{region}</span> },
  { head: 'Cost per hour', right: true, cell: (rental) => <HourlyCost {...rentalBilling(rental)} /> },
  {
    head: 'Spent so far',
    right: true,
    cell: ({ costSoFarNanoUsd }) => <Money nano={costSoFarNanoUsd} />,
  },
  { head: 'Created', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  { head: 'Actions', cell: (rental) => <RentalActions rental={rental} isSmall /> },
];

export function LiveList({ search }: Readonly<{ search: RentalsSearch }>) {
  const navigate = useNavigate();
  const { status, type } = search;
  const pages = usePages<Rental>(
    ['rentals', 'live', { status, type }],
    (client, signal) =>
      client.rentals.list(
        {
          limit: PAGE_SIZE,
          ...(status === undefined ? {} : { status }),
          ...(type === undefined ? {} : { rentalType: type }),
        },
        { signal },
      ),
    {
      refetchMs: (rentals) => (rentals.some(isChanging) ? CHANGING_REFETCH_MS : IDLE_REFETCH_MS),
      pagesMax: PAGES_MAX,
    },
  );
  const noneFits = {
    icon: SearchX,
    empty: 'No rentals match',
    action: <Button onClick={() => void navigate({ to: '/rentals' })}>Clear filters</Button>,
  };
  return (
    <>
      <RentalFilters search={search} />
      <Card flush>
        <PagedTable
          pages={pages}
          what="rentals"
          caption="Active rentals"
          {...(status === undefined && type === undefined ? noneYet : noneFits)}
          columns={columns}
        />
      </Card>
    </>
  );
}

function Name({ rental }: Readonly<{ rental: Rental }>) {
  return (
    <>
      <TextLink
        to="/rentals/$rentalId"
        params={{ rentalId: String(rental.id) }}
        className="text-accent font-medium underline-offset-2"
      >
        {rentalTitle(rental)}
      </TextLink>
      <span className="text-soft block text-xs font-normal">{rentalHardwareText(rental)}</span>
    </>
  );
}
