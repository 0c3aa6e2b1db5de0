import type { Item } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { CalendarRange, SearchX } from 'lucide-react';
import { CommandHint, CopyButton } from '../../../ui/copy.tsx';
import { FilterField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { LostVolumes } from './lost-volumes.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { RentalTable } from './rental-table.tsx';
import { rentalStatuses, rentalTabs } from '../common/search-params.ts';
import { Form } from '../../../ui/form.tsx';
import { OrganisationLink } from '../common/organisation-name.tsx';

const route = getRouteApi('/shell/inside/operator/rentals');

export const AllRentalsPage = operatorPage('All rentals', AllRentals);

function AllRentals() {
  const { tab = 'rentals' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader
        title="All rentals"
        about="Rentals, instances and reservation requests of all organisations, and lost volumes."
      />
      <Tabs
        label="View"
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
        <Form role="search" className="grid grid-cols-2 gap-3 sm:max-w-md">
          <FilterField
            label="Status"
            value={status}
            all="All active"
            choices={rentalStatuses}
            onValue={(next) => void navigate({ search: (before) => ({ ...before, status: next }) })}
          />
          <FilterField
            label="Mode"
            value={mode}
            all="Live and test"
            choices={[
              { value: 'live', label: 'Live' },
              { value: 'test', label: 'Test' },
            ]}
            onValue={(next) => void navigate({ search: (before) => ({ ...before, mode: next }) })}
          />
        </Form>
      </Card>
      <Card flush>
        <RentalTable
          filter={{
            ...(status === undefined ? {} : { status }),
            ...(mode === undefined ? {} : { mode }),
            ...(organisation === undefined ? {} : { organisationId: organisation }),
            ...(node === undefined ? {} : { nodeId: node }),
          }}
          icon={SearchX}
          empty="No rentals match"
          hint="Change the filters to see more."
        />
      </Card>
      <CommandHint command="millrace admin rental list" />
    </>
  );
}

const columns: readonly Column<Item<'adminListReservationRequests'>>[] = [
  { head: 'Time', main: true, cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  {
    head: 'Organisation',
    cell: ({ organisationId }) => <OrganisationLink id={organisationId} />,
  },
  { head: 'GPUs', right: true, cell: ({ gpuCount }) => gpuCount },
  {
    head: 'Requested by',
    cell: ({ requestedBy }) => (
      <span className="inline-flex items-center gap-1">
        a member <CopyButton text={requestedBy} what="user ID" />
      </span>
    ),
  },
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
          caption="Reservation requests"
          columns={columns}
          icon={CalendarRange}
          empty="No reservation requests"
          hint="Requests for more GPUs than the catalog offers appear here."
        />
      </Card>
      <CommandHint command="millrace admin reservation list" />
    </>
  );
}
