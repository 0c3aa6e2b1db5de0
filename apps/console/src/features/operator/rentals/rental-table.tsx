import type { Input, Item } from '@millrace/sdk';
import { rentalStateText } from '@millrace/sdk/text';
import { Server, type LucideIcon } from 'lucide-react';
import { Badge, StateBadge } from '../../../ui/badge.tsx';
import { CopyButton } from '../../../ui/copy.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import type { Column } from '../../../ui/table.tsx';
import { withLocalTimes } from '../../../ui/logic/local-times.ts';
import { RelativeTime } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { WriteOffButton } from '../common/write-off-button.tsx';
import { TextLink } from '../../../ui/link.tsx';
import { rentalAnchor, rentalName } from './rental-names.ts';

type AnyRental = Item<'adminListRentals'>;
type Filter = Omit<Input<'adminListRentals'>, 'limit' | 'cursor'>;

function Terminate({ rental }: Readonly<{ rental: AnyRental }>) {
  const name = rentalName(rental);
  return (
    <ActionButton
      label="Terminate"
      title={`Terminate ${name} of ${rental.organisationName}`}
      kind="danger"
      doing="Terminating…"
      done={`Terminating ${name}.`}
      off={
        (rental.status === 'Terminated' && 'The rental has ended.') ||
        (rental.status === 'Terminating' && 'The rental is already terminating.')
      }
      run={(client, reason) => client.admin.rentals.terminate({ rentalId: rental.id, reason })}
    >
      <p>
        The machines and their local disks are deleted, and {rental.organisationName} is notified. Billing
        stops at once, and the rest of a reserved term is waived. Volumes stay and keep billing.
      </p>
    </ActionButton>
  );
}

/** Only shown if the host may be lost: the rental is Unknown, Failed or Terminating. */
function WriteOff({ rental }: Readonly<{ rental: AnyRental }>) {
  if (rental.status !== 'Unknown' && rental.status !== 'Failed' && rental.status !== 'Terminating')
    return null;
  return (
    <WriteOffButton
      name={rentalName(rental)}
      off={false}
      run={(client, request) => client.admin.rentals.writeOff({ rentalId: rental.id, ...request })}
    >
      <p>
        For a rental whose host will not return. Its machines and data are declared lost, the rental ends, and{' '}
        {rental.organisationName} is notified. Nothing is charged after the host was last seen. The nodes are
        quarantined.
      </p>
    </WriteOffButton>
  );
}

const kinds: Readonly<Record<AnyRental['kind'], string>> = {
  'virtual-machine': 'virtual machine',
  'bare-metal': 'bare metal',
  instance: 'marketplace instance',
};

/** Name, with a link to the rental on the page of its node: operators see no page of a single rental. */
function Name({ rental, isOnNodePage }: Readonly<{ rental: AnyRental; isOnNodePage: boolean }>) {
  const [nodeId] = rental.nodeIds;
  if (isOnNodePage || nodeId === undefined) return rentalName(rental);
  return (
    <TextLink to="/operator/nodes/$nodeId" params={{ nodeId }} hash={rentalAnchor(rental.id)}>
      {rentalName(rental)}
    </TextLink>
  );
}

const columnsOf = (isOnNodePage: boolean): readonly Column<AnyRental>[] => [
  {
    head: 'Rental',
    main: true,
    cell: (rental) => (
      <span id={rentalAnchor(rental.id)} className="inline-flex flex-wrap items-center gap-1">
        <Name rental={rental} isOnNodePage={isOnNodePage} />
        <CopyButton text={String(rental.id)} what={`ID of ${rentalName(rental)}`} />
        {rental.mode === 'test' && <Badge>test</Badge>}
      </span>
    ),
  },
  {
    head: 'Organisation',
    cell: ({ organisationId, organisationName }) => (
      <TextLink to="/operator/organisations/$organisationId" params={{ organisationId }}>
        {organisationName}
      </TextLink>
    ),
  },
  {
    head: 'Type',
    cell: ({ kind, gpuCount, gpuType, region }) => (
      <>
        {gpuCount} × {gpuType.toUpperCase()}
        <span className="text-soft block text-xs">
          {kinds[kind]}, {region}
        </span>
      </>
    ),
  },
  {
    head: 'Status',
    cell: ({ statusReason, ...rental }) => (
      <>
        <StateBadge state={rentalStateText(rental)} />
        {statusReason !== null && (
          <span className="text-soft block text-xs">{withLocalTimes(statusReason)}</span>
        )}
      </>
    ),
  },
  {
    head: 'Nodes',
    cell: ({ nodeIds }) =>
      nodeIds.length === 0 ? (
        'none'
      ) : (
        <span className="flex flex-wrap justify-end gap-x-2 md:justify-start">
          {nodeIds.map((nodeId, index) => (
            <TextLink
              key={nodeId}
              to="/operator/nodes/$nodeId"
              params={{ nodeId }}
              className="whitespace-nowrap"
            >
              {nodeIds.length === 1 ? 'View node' : `node ${String(index + 1)}`}
            </TextLink>
          ))}
        </span>
      ),
  },
  { head: 'Created', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  {
    head: 'Actions',
    cell: (rental) => (
      <span className="inline-flex flex-wrap gap-1">
        <Terminate rental={rental} />
        <WriteOff rental={rental} />
      </span>
    ),
  },
];

const columns = columnsOf(false);
const columnsOnNodePage = columnsOf(true);

export function RentalTable(
  props: Readonly<{ filter: Filter; icon?: LucideIcon; empty: string; hint?: string }>,
) {
  const { filter, icon = Server, ...none } = props;
  const pages = usePages(
    ['admin', 'rentals', filter],
    (client, signal) => client.admin.rentals.list({ ...filter, limit: 50 }, { signal }),
    { refetchMs: 5_000 },
  );
  return (
    <PagedTable
      pages={pages}
      what="rentals"
      caption="Rentals and instances"
      columns={filter.nodeId === undefined ? columns : columnsOnNodePage}
      icon={icon}
      {...none}
    />
  );
}
