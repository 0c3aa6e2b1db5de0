import type { Item } from '@millrace/sdk';
import { Server } from 'lucide-react';
import { StateBadge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { FilterField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { percentText } from '../../supplier/percent-text.ts';
import { ActionButton } from '../common/action-button.tsx';
import { machineApprovals } from '../common/search-params.ts';
import { TextLink } from '../../../ui/link.tsx';

type Machine = Item<'adminListMachines'>;
type Approval = Machine['approval'];

function ApproveOrReject({ machine }: Readonly<{ machine: Machine }>) {
  const { id: machineId, name, approval } = machine;
  return (
    <span className="flex flex-wrap justify-end gap-1 md:justify-start">
      <ActionButton
        label="Approve"
        title={`Approve ${name} for the marketplace`}
        doing="Approving…"
        done={`${name} was approved.`}
        off={approval === 'approved' && 'The machine is already approved.'}
        changes={['admin', 'marketplace']}
        run={(client, reason) => client.admin.machines.approve({ machineId, reason })}
      >
        <p>The machine appears on the marketplace when its supplier lists it and it is ready.</p>
      </ActionButton>
      <ActionButton
        label="Reject"
        title={`Reject ${name}`}
        kind="danger"
        doing="Rejecting…"
        done={`${name} was rejected.`}
        off={approval === 'rejected' && 'The machine is already rejected.'}
        changes={['admin', 'marketplace']}
        run={(client, reason) => client.admin.machines.reject({ machineId, reason })}
      >
        <p>The machine can no longer be rented; running instances continue. The supplier sees the reason.</p>
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
        <TextLink to="/operator/nodes/$nodeId" params={{ nodeId: id }}>
          {name}
        </TextLink>
        <span className="text-soft block text-xs font-normal">
          {clusterName}, {region}
        </span>
      </>
    ),
  },
  { head: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
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
    head: 'Listing',
    cell: ({ shown, notShownBecause }) =>
      shown ? 'yes' : <span className="text-soft">{notShownBecause ?? 'no'}</span>,
  },
  { head: 'GPUs', cell: ({ gpus, gpusRented }) => `${String(gpusRented)} of ${String(gpus.length)} rented` },
  {
    head: 'Price',
    right: true,
    cell: ({ pricePerGpuHourNanoUsd }) =>
      pricePerGpuHourNanoUsd === null ? 'none' : <Money nano={pricePerGpuHourNanoUsd} />,
  },
  {
    head: 'Reliability',
    cell: ({ reliability }) =>
      reliability === null ? (
        'not measured yet'
      ) : (
        <>
          {percentText(reliability.score)}
          <span className="text-soft block text-xs">
            uptime {percentText(reliability.uptime)}, {reliability.failedStarts} of{' '}
            {reliability.starts + reliability.failedStarts} starts failed, {reliability.losses} lost
          </span>
        </>
      ),
  },
  { head: 'Actions', cell: (machine) => <ApproveOrReject machine={machine} /> },
];

interface SupplierMachinesProps {
  readonly approval: Approval | undefined;
  readonly supplierId: string | undefined;
  readonly onApproval: (approval: Approval | undefined) => void;
}

export function SupplierMachines({ approval, supplierId, onApproval }: SupplierMachinesProps) {
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
        title={supplierId === undefined ? 'Supplier machines' : 'Machines of one supplier'}
        flush
        actions={
          <>
            {supplierId !== undefined && (
              <TextLink to="/operator/suppliers" search={{ tab: 'machines' }} className="self-center">
                All suppliers
              </TextLink>
            )}
            <FilterField
              label="Approval"
              hideLabel
              value={approval}
              all="All"
              choices={machineApprovals}
              onValue={onApproval}
            />
          </>
        }
      >
        <PagedTable
          pages={pages}
          what="machines"
          caption="Supplier machines"
          columns={columns}
          icon={Server}
          empty="No machines match"
          hint="Machines appear here after they join and pass their self-test."
        />
      </Card>
      <CommandHint command="millrace admin machine list" />
    </>
  );
}
