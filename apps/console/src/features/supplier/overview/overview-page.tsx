import { Server } from 'lucide-react';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge, StateBadge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { LinkButton, TextLink } from '../../../ui/link.tsx';
import { HeadlineMoney, Money } from '../../../ui/money.tsx';
import { Card, KeyFigures, PageHeader } from '../../../ui/page.tsx';
import { PageSkeleton } from '../../../ui/skeleton.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { AttentionCard } from '../../../ui/attention.tsx';
import { RequireSupplier } from '../account.tsx';
import type { Account } from '../application/supplier-account.ts';
import { marketStatus } from '../market-status.ts';
import { percentText } from '../percent-text.ts';
import {
  countMachines,
  supplierAttention,
  type Earnings,
  type SupplierMachine,
} from './supplier-attention.ts';

export function SupplierOverviewPage() {
  return (
    <RequireSupplier title="Supplier overview">
      {(account) => <SupplierOverview account={account} />}
    </RequireSupplier>
  );
}

function SupplierOverview({ account }: Readonly<{ account: Account }>) {
  const overview = useApiQuery(
    ['supplier', 'overview'],
    async ({ supplier }, signal) => {
      const [earnings, machines] = await Promise.all([
        supplier.earnings.get({}, { signal }),
        supplier.machines.list({ limit: 200 }, { signal }).all(),
      ]);
      return { earnings, machines };
    },
    { refetchMs: 10_000 },
  );
  return (
    <>
      <PageHeader
        title="Supplier overview"
        about={`Earnings and machines of ${account.name}. The operator keeps ${String(account.feePercentage)} % of each charge.`}
        actions={<LinkButton to="/supplier/earnings">Earnings and payouts</LinkButton>}
      />
      <QueryView
        query={overview}
        what="earnings and machines"
        skeleton={<PageSkeleton what="earnings and machines" />}
      >
        {({ earnings, machines }) => (
          <>
            <Figures earnings={earnings} machines={machines} />
            <AttentionCard
              items={supplierAttention(machines, earnings)}
              what="All machines are listed and reliable."
            />
            <MachinesCard machines={machines} earnings={earnings} />
          </>
        )}
      </QueryView>
      <CommandHint command="millrace supplier earnings && millrace supplier machine list" />
    </>
  );
}

interface FiguresProps {
  readonly earnings: Earnings;
  readonly machines: readonly SupplierMachine[];
}

function Figures({ earnings, machines }: FiguresProps) {
  const counts = countMachines(machines);
  return (
    <KeyFigures
      items={[
        {
          label: 'Earned this month',
          lead: true,
          value: <HeadlineMoney nano={earnings.earnedNanoUsd} />,
          note: (
            <>
              and <HeadlineMoney nano={earnings.accruedNanoUsd} /> accruing now
            </>
          ),
        },
        {
          label: 'Payable',
          value: <HeadlineMoney nano={earnings.payableNanoUsd} />,
          note: (
            <>
              <HeadlineMoney nano={earnings.maturingNanoUsd} /> follows later
            </>
          ),
        },
        {
          label: 'Pending payout',
          value: <HeadlineMoney nano={earnings.requestedNanoUsd} />,
          note: 'requested, not paid yet',
        },
        {
          label: 'Rented GPUs',
          value: `${String(counts.rentedGpus)} of ${String(counts.gpus)}`,
          note: `${String(counts.listed)} of ${String(counts.machines)} machines can be rented`,
        },
      ]}
    />
  );
}

interface MachineRow extends SupplierMachine {
  readonly earned: string;
}

const columns: readonly Column<MachineRow>[] = [
  {
    head: 'Machine',
    main: true,
    cell: ({ id, name, region }) => (
      <>
        <TextLink to="/supplier/machines/$machineId" params={{ machineId: id }}>
          {name}
        </TextLink>
        <span className="text-soft block text-xs font-normal">{region}</span>
      </>
    ),
  },
  { head: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
  {
    head: 'Marketplace',
    cell: (machine) => {
      const { tone, label } = marketStatus(machine);
      return <Badge tone={tone}>{label}</Badge>;
    },
  },
  { head: 'Rented', cell: ({ gpus, gpusRented }) => `${String(gpusRented)} of ${String(gpus.length)} GPUs` },
  {
    head: 'Reliability',
    right: true,
    cell: ({ reliability }) => (reliability === null ? 'not measured yet' : percentText(reliability.score)),
  },
  { head: 'Earned this month', right: true, cell: ({ earned }) => <Money nano={earned} /> },
];

function MachinesCard({ machines, earnings }: FiguresProps) {
  const earnedBy = new Map(
    earnings.machines.map(({ machineId, earnedNanoUsd }) => [machineId, earnedNanoUsd]),
  );
  const rows = machines.map((machine): MachineRow => ({
    ...machine,
    earned: earnedBy.get(machine.id) ?? '0',
  }));
  return (
    <Card title="Machines" about="Reliability is measured over the last 30 days" flush>
      {rows.length === 0 ? (
        <EmptyState
          icon={Server}
          title="No machines yet"
          action={
            <LinkButton to="/supplier/machines" search={{ tab: 'join' }} kind="primary">
              Add machine
            </LinkButton>
          }
        >
          Create a join token and run one command on the machine. It then appears here.
        </EmptyState>
      ) : (
        <Table caption="Machines and what they earn" columns={columns} rows={rows} />
      )}
    </Card>
  );
}
