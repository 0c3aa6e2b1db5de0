import type { Output } from '@millrace/sdk';
import { exactDuration, usdText } from '@millrace/sdk/text';
import { getRouteApi } from '@tanstack/react-router';
import { BadgeDollarSign } from 'lucide-react';
import { useMemo } from 'react';
import { nowMs } from '../../api/clock.ts';
import { useApiQuery } from '../../api/queries.ts';
import { Chart } from '../../ui/chart.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { TextField } from '../../ui/field.tsx';
import { daysOfPeriod } from '../../ui/logic/daily-usd.ts';
import { dayText } from '../../ui/logic/day-text.ts';
import { Money } from '../../ui/money.tsx';
import { Card, KeyFigures, PageHeader } from '../../ui/page.tsx';
import { EmptyState, Note, QueryView } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { MachineName } from './machine-name.tsx';
import { RequireSupplier } from './account.tsx';
import { dayChart, earningsPeriod } from './earnings.ts';
import { FiguresSkeleton } from '../../ui/skeleton.tsx';
import { Payouts, RequestPayout } from './payouts.tsx';
import { moneyTabs } from './tabs.ts';
import { Statements } from './statements.tsx';
import { Form } from '../../ui/form.tsx';

const route = getRouteApi('/shell/inside/supplier/earnings');

type Earnings = Output<'supplierGetEarnings'>;
type MachineEarning = Earnings['machines'][number];
type DayEarning = Earnings['days'][number];

export function EarningsPage() {
  return <RequireSupplier title="Earnings">{() => <EarningsAndPayouts />}</RequireSupplier>;
}

function EarningsAndPayouts() {
  const { tab = 'earnings', from, until } = route.useSearch();
  const navigate = route.useNavigate();
  const period = earningsPeriod({ from, until });
  const earnings = useApiQuery(
    ['supplier', 'earnings', from, until],
    (client, signal) => client.supplier.earnings.get(period ?? {}, { signal }),
    { refetchMs: 10_000, keepPrevious: true, enabled: period !== null },
  );
  return (
    <>
      <PageHeader
        title="Earnings"
        about="You earn the price less the fee for every second that a tenant pays, exact to the nano-USD."
        actions={<RequestPayout payableNanoUsd={earnings.data?.payableNanoUsd} />}
      />
      {earnings.data === undefined ? (
        earnings.isLoading && <FiguresSkeleton what="totals" count={4} />
      ) : (
        <Totals earnings={earnings.data} />
      )}
      <Tabs
        label="View"
        open={tab}
        onOpen={(id) => {
          const next = moneyTabs.find((each) => each === id);
          void navigate({ search: (before) => ({ ...before, tab: next === 'earnings' ? undefined : next }) });
        }}
        tabs={[
          {
            id: 'earnings',
            label: 'Earnings',
            content: () => (
              <>
                <PeriodFields />
                {period === null ? (
                  <Note tone="warn">The start must be before the end.</Note>
                ) : (
                  <QueryView query={earnings} what="earnings">
                    {(loaded) => <Shares earnings={loaded} />}
                  </QueryView>
                )}
                <CommandHint command="millrace supplier earnings" />
              </>
            ),
          },
          { id: 'statements', label: 'Statements', content: () => <Statements /> },
          { id: 'payouts', label: 'Payouts', content: () => <Payouts /> },
        ]}
      />
    </>
  );
}

function Totals({ earnings }: Readonly<{ earnings: Earnings }>) {
  const isBelow = BigInt(earnings.payableNanoUsd) < 0n;
  return (
    <>
      <KeyFigures
        items={[
          {
            label: 'Accruing',
            value: <Money nano={earnings.accruedNanoUsd} />,
            note: 'on rented machines',
          },
          { label: 'Payable', value: <Money nano={earnings.payableNanoUsd} />, note: 'available for payout' },
          { label: 'Requested', value: <Money nano={earnings.requestedNanoUsd} />, note: 'not paid yet' },
          { label: 'Paid out', value: <Money nano={earnings.paidOutNanoUsd} />, note: 'in total' },
        ]}
      />
      {isBelow && (
        <div className="mb-4">
          <Note tone="warn">
            Tenants were refunded money that had already been paid out to you. It is deducted from your next
            earnings.
          </Note>
        </div>
      )}
    </>
  );
}

function PeriodFields() {
  const { from = '', until = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const set = (change: { from?: string | undefined; until?: string | undefined }): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const today = new Date(nowMs()).toISOString().slice(0, 10);
  return (
    <Card>
      <Form className="flex flex-wrap items-end gap-3">
        <TextField
          label="From (UTC)"
          type="date"
          max={today}
          value={from}
          onValue={(from) => set({ from: from || undefined })}
        />
        <TextField
          label="Through (UTC)"
          type="date"
          max={today}
          value={until}
          onValue={(until) => set({ until: until || undefined })}
        />
        <p className="text-soft pb-2 text-xs">Default: this month.</p>
      </Form>
    </Card>
  );
}

const machineColumns: readonly Column<MachineEarning>[] = [
  {
    head: 'Machine',
    main: true,
    cell: ({ machineId }) => <MachineName machineId={machineId} />,
  },
  { head: 'GPU time', right: true, cell: ({ gpuSeconds }) => exactDuration(Math.max(0, gpuSeconds)) },
  { head: 'Earned', right: true, cell: ({ earnedNanoUsd }) => <Money nano={earnedNanoUsd} /> },
];

const dayColumns: readonly Column<DayEarning>[] = [
  { head: 'Day (UTC)', main: true, cell: ({ day }) => dayText(day) },
  { head: 'GPU time', right: true, cell: ({ gpuSeconds }) => exactDuration(Math.max(0, gpuSeconds)) },
  { head: 'Earned', right: true, cell: ({ earnedNanoUsd }) => <Money nano={earnedNanoUsd} /> },
];

const dollars = (value: number): string => usdText(BigInt(Math.round(value * 1e9)));

function Shares({ earnings }: Readonly<{ earnings: Earnings }>) {
  const { machines, days, from, until } = earnings;
  // Days instead of times: the end of the default period changes with each request, but not the chart.
  const { firstDay, lastDay } = daysOfPeriod({ from, until });
  const chart = useMemo(() => dayChart(days, { firstDay, lastDay }), [days, firstDay, lastDay]);
  if (machines.length === 0 && days.length === 0) {
    return (
      <Card>
        <EmptyState icon={BadgeDollarSign} title="No earnings in this period">
          Listed machines earn while they are rented.
        </EmptyState>
      </Card>
    );
  }
  return (
    <>
      <p className="text-soft mb-3 text-xs">
        Posted from <Timestamp at={from} /> to <Timestamp at={until} />, less refunds.
      </p>
      <Card title="Daily earnings">
        <Chart
          label="Daily earnings"
          kind="bars"
          seconds={chart.seconds}
          series={chart.series}
          format={dollars}
        />
      </Card>
      <Card title="Daily earnings, exact" flush>
        <Table caption="Daily earnings" columns={dayColumns} rows={days} rowKey={({ day }) => day} />
      </Card>
      <Card title="By machine" flush>
        <Table
          caption="Earnings by machine"
          columns={machineColumns}
          rows={machines}
          rowKey={({ machineId }) => machineId ?? 'unknown'}
        />
      </Card>
    </>
  );
}
