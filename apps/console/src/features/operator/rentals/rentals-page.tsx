import type { Item } from '@millrace/sdk';
import { getRouteApi, Link } from '@tanstack/react-router';
import { CommandHint } from '../../../ui/copy.tsx';
import { SelectField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { EmptyState } from '../../../ui/states.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { LostVolumes } from './lost-volumes.tsx';
import { RequireOperator } from '../common/require-operator.tsx';
import { RentalTable } from './rental-table.tsx';
import { rentalStatuses, rentalTabs } from '../common/search-params.ts';

const route = getRouteApi('/shell/inside/operator/rentals');

export function AllRentalsPage() {
  return (
    <RequireOperator title="All rentals">
      <AllRentals />
    </RequireOperator>
  );
}

function AllRentals() {
  const { tab = 'rentals' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader
        title="All rentals"
        about="Rentals, instances and reservation requests of every organisation, and volumes that are lost."
      />
      <Tabs
        label="What is shown"
        open={tab}
        onOpen={(id) => void navigate({ search: { tab: rentalTabs.find((each) => each === id) } })}
        tabs={[
          { id: 'rentals', label: 'Rentals', content: () => <Rentals /> },
          { id: 'reservations', label: 'Reservation requests', content: () => <Requests /> },
          { id: 'volumes', label: 'Lost volumes', content: () => <LostVolumes /> },
        ]}
      />
    </>
  );
}

function Rentals() {
  const { status, mode, organisation, node } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <Card>
        <form
          role="search"
          className="grid grid-cols-2 gap-3 sm:max-w-md"
          onSubmit={(event) => event.preventDefault()}
        >
          <SelectField
            label="State"
            value={status ?? ''}
            choices={[
              { value: '', label: 'All that have not ended' },
              ...rentalStatuses.map((value) => ({ value, label: value })),
            ]}
            onChange={(event) => {
              const next = rentalStatuses.find((each) => each === event.target.value);
              void navigate({ search: (before) => ({ ...before, status: next }) });
            }}
          />
          <SelectField
            label="Mode"
            value={mode ?? ''}
            choices={[
              { value: '', label: 'Live and test' },
              { value: 'live', label: 'Live' },
              { value: 'test', label: 'Test' },
            ]}
            onChange={(event) => {
              const next = (['live', 'test'] as const).find((each) => each === event.target.value);
              void navigate({ search: (before) => ({ ...before, mode: next }) });
            }}
          />
        </form>
      </Card>
      <Card flush>
        <RentalTable
          filter={{
            ...(status === undefined ? {} : { status }),
            ...(mode === undefined ? {} : { mode }),
            ...(organisation === undefined ? {} : { organisationId: organisation }),
            ...(node === undefined ? {} : { nodeId: node }),
          }}
          empty={
            <EmptyState title="No rental fits">
              Nobody has anything rented that these filters let through.
            </EmptyState>
          }
        />
      </Card>
      <CommandHint command="millrace admin rental list" />
    </>
  );
}

const columns: readonly Column<Item<'adminListReservationRequests'>>[] = [
  { head: 'When', main: true, cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  {
    head: 'Organisation',
    cell: ({ organisationId }) => (
      <Link to="/operator/organisations/$organisationId" params={{ organisationId }} className="underline">
        <code>{organisationId}</code>
      </Link>
    ),
  },
  { head: 'GPUs', right: true, cell: ({ gpuCount }) => gpuCount },
  { head: 'Asked by', cell: ({ requestedBy }) => <code>{requestedBy}</code> },
];

function Requests() {
  const pages = usePages(['admin', 'reservation-requests'], (client, signal) =>
    client.admin.reservationRequests.list({ limit: 50 }, { signal }),
  );
  return (
    <>
      <Card flush>
        <PagedTable
          pages={pages}
          what="requests"
          caption="Requests for large reservations"
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <EmptyState title="Nobody has asked for a large reservation">
              Requests that people make for more GPUs than the catalog offers appear here.
            </EmptyState>
          }
        />
      </Card>
      <CommandHint command="millrace admin reservation list" />
    </>
  );
}
