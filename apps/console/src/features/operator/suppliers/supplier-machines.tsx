import type { Item } from '@millrace/sdk';
import { Link } from '@tanstack/react-router';
import { StateBadge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { SelectField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card } from '../../../ui/page.tsx';
import { EmptyState } from '../../../ui/states.tsx';
import type { Column } from '../../../ui/table.tsx';
import { percentText } from '../../supplier/percent-text.ts';
import { ActionButton } from '../common/action-button.tsx';
import { machineApprovals } from '../common/search-params.ts';

type Machine = Item<'adminListMachines'>;
type Approval = Machine['approval'];

function ApproveOrReject({ machine }: { readonly machine: Machine }) {
  const { id: machineId, name, approval } = machine;
  return (
    <span className="flex flex-wrap justify-end gap-1 md:justify-start">
      <ActionButton
        label="Approve"
        title={`Approve ${name} for the marketplace`}
        doing="Approving…"
        done={`${name} is approved.`}
        off={approval === 'approved' && 'It is approved already.'}
        changes={['admin', 'marketplace']}
        run={(client, reason) => client.admin.machines.approve({ machineId, reason })}
      >
        <p>It is shown on the marketplace as soon as its supplier lists it and it is ready.</p>
      </ActionButton>
      <ActionButton
        label="Refuse"
        title={`Refuse ${name}`}
        kind="danger"
        doing="Refusing…"
        done={`${name} is refused.`}
        off={approval === 'rejected' && 'It is refused already.'}
        changes={['admin', 'marketplace']}
        run={(client, reason) => client.admin.machines.reject({ machineId, reason })}
      >
        <p>It is no longer shown or rented; what is rented on it goes on. Its supplier reads the reason.</p>
      </ActionButton>
    </span>
  );
}

const columns: readonly Column<Machine>[] = [
  {
    head: 'Machine',
    main: true,
    cell: ({ id, name, region, clusterName }) => (
      <>
        <Link to="/operator/nodes/$nodeId" params={{ nodeId: id }} className="underline">
          {name}
        </Link>
        <span className="text-soft block text-xs font-normal">
          {clusterName}, {region}
        </span>
      </>
    ),
  },
  { head: 'State', cell: ({ status }) => <StateBadge state={status} /> },
  {
    head: 'Approval',
    cell: ({ approval, approvalReason }) => (
      <>
        <StateBadge state={approval} />
        {approvalReason !== null && <span className="text-soft block text-xs">{approvalReason}</span>}
      </>
    ),
  },
  {
    head: 'Shown',
    cell: ({ shown, notShownBecause }) =>
      shown ? 'yes' : <span className="text-soft">{notShownBecause ?? 'no'}</span>,
  },
  {
    head: 'GPUs',
    cell: ({ gpus, gpusRented }) => `${String(gpusRented)} of ${String(gpus.length)} rented`,
  },
  {
    head: 'Price',
    right: true,
    cell: ({ pricePerGpuHourNanoUsd }) =>
      pricePerGpuHourNanoUsd === null ? 'none' : <Money nano={pricePerGpuHourNanoUsd} />,
  },
  {
    head: 'Trust',
    cell: ({ reliability }) =>
      reliability === null ? (
        'not measured yet'
      ) : (
        <>
          {percentText(reliability.score)}
          <span className="text-soft block text-xs">
            up {percentText(reliability.uptime)}, {reliability.failedStarts} of{' '}
            {reliability.starts + reliability.failedStarts} starts failed, {reliability.losses} lost
          </span>
        </>
      ),
  },
  { head: 'Act', cell: (machine) => <ApproveOrReject machine={machine} /> },
];

/** Machines of all suppliers, or of one, with how far they can be relied on. */
export function SupplierMachines({
  approval,
  supplierId,
  onApproval,
}: {
  readonly approval: Approval | undefined;
  readonly supplierId: string | undefined;
  readonly onApproval: (approval: Approval | undefined) => void;
}) {
  const filter = {
    ...(approval === undefined ? {} : { approval }),
    ...(supplierId === undefined ? {} : { supplierId }),
  };
  const pages = usePages(
    ['admin', 'machines', filter],
    (client, signal) => client.admin.machines.list({ ...filter, limit: 50 }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <>
      <Card
        title={supplierId === undefined ? 'Machines of suppliers' : 'Machines of one supplier'}
        flush
        actions={
          <>
            {supplierId !== undefined && (
              <Link to="/operator/suppliers" search={{ tab: 'machines' }} className="self-center underline">
                All suppliers
              </Link>
            )}
            <SelectField
              label="Approval"
              hideLabel
              value={approval ?? ''}
              choices={[
                { value: '', label: 'All' },
                ...machineApprovals.map((value) => ({ value, label: value })),
              ]}
              onChange={(event) => onApproval(machineApprovals.find((each) => each === event.target.value))}
            />
          </>
        }
      >
        <PagedTable
          pages={pages}
          what="machines"
          caption="Machines of suppliers"
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <EmptyState title="No machine fits">
              Machines appear once a supplier let one join and it passed its test.
            </EmptyState>
          }
        />
      </Card>
      <CommandHint command="millrace admin machine list" />
    </>
  );
}
