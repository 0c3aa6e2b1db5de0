import type { Item } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { Server } from 'lucide-react';
import { Badge, StateBadge } from '../../ui/badge.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Money } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { RequireSupplier } from './account.tsx';
import type { Account } from './application/supplier-account.ts';
import { Enrolments } from './enrolments.tsx';
import { JoinTokens } from './join-tokens.tsx';
import { ListingProgress } from './application/supplier-timeline.tsx';
import { percentText } from './percent-text.ts';
import { marketStatus } from './market-status.ts';
import { LinkButton, TextLink } from '../../ui/link.tsx';

const route = getRouteApi('/shell/inside/supplier/machines');

type Machine = Item<'supplierListMachines'>;

export function SupplierPage() {
  return <RequireSupplier title="My machines">{(account) => <Machines account={account} />}</RequireSupplier>;
}

function Machines({ account }: Readonly<{ account: Account }>) {
  const { tab = 'machines' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader
        title="My machines"
        about={`Machines of ${account.name} on the marketplace. The operator keeps ${String(account.feePercentage)} % of each charge.`}
        actions={
          <LinkButton to="/supplier/machines" search={{ tab: 'join' }} kind="primary">
            Add machine
          </LinkButton>
        }
      />
      <ListingProgress account={account} />
      <Tabs
        label="View"
        open={tab}
        onOpen={(id) => void navigate({ search: id === 'join' ? { tab: 'join' } : {} })}
        tabs={[
          { id: 'machines', label: 'Machines', content: () => <MachineList /> },
          {
            id: 'join',
            label: 'Joining',
            content: () => (
              <>
                <JoinTokens />
                <Enrolments />
              </>
            ),
          },
        ]}
      />
    </>
  );
}

const columns: readonly Column<Machine>[] = [
  {
    head: 'Machine',
    main: true,
    cell: ({ id, name, clusterName, region }) => (
      <>
        <TextLink to="/supplier/machines/$machineId" params={{ machineId: id }}>
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
    head: 'Marketplace',
    cell: (machine) => {
      const { tone, label, why } = marketStatus(machine);
      return (
        <>
          <Badge tone={tone}>{label}</Badge>
          {why !== null && <span className="text-soft block text-xs">{why}</span>}
        </>
      );
    },
  },
  {
    head: 'Price',
    right: true,
    cell: ({ pricePerGpuHourNanoUsd }) =>
      pricePerGpuHourNanoUsd === null ? (
        'not set'
      ) : (
        <>
          <Money nano={pricePerGpuHourNanoUsd} />
          <span className="text-soft block text-xs">per GPU-hour</span>
        </>
      ),
  },
  { head: 'Rented', cell: ({ gpus, gpusRented }) => `${String(gpusRented)} of ${String(gpus.length)} GPUs` },
  {
    head: 'Reliability',
    cell: ({ reliability }) => (reliability === null ? 'not measured yet' : percentText(reliability.score)),
  },
];

function MachineList() {
  const pages = usePages(
    ['supplier', 'machines'],
    (client, signal) => client.supplier.machines.list({ limit: 50 }, { signal }),
    { refetchMs: 5_000 },
  );
  return (
    <>
      <Card flush>
        <PagedTable
          pages={pages}
          what="machines"
          caption="My machines"
          columns={columns}
          icon={Server}
          empty="No machines yet"
          action={
            <LinkButton to="/supplier/machines" search={{ tab: 'join' }} kind="primary">
              Add machine
            </LinkButton>
          }
          hint="Create a join token and run one command on the machine. It then appears here."
        />
      </Card>
      <CommandHint command="millrace supplier machine list" />
    </>
  );
}
