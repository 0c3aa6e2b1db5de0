import { usdNumberText } from '@millrace/sdk/text';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ChartColumn, Download } from 'lucide-react';
import { useMemo, useState } from 'react';
import { nowMs } from '../../api/clock.ts';
import { download } from '../../api/download.ts';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Chart } from '../../ui/chart.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { dayText } from '../../ui/logic/day-text.ts';
import { HeadlineMoney } from '../../ui/money.tsx';
import { Card, KeyFigures, PageHeader } from '../../ui/page.tsx';
import { EmptyState, Note, Problem, QueryView } from '../../ui/states.tsx';
import { BatchCard } from './batch-card.tsx';
import { RequestCard } from './request-card.tsx';
import {
  groupings,
  parseUsageSearch,
  usagePeriod,
  ranges,
  viewOf,
  type Grouping,
  type Period,
  type Range,
  type UsageSearch,
} from './search.ts';
import { dailyChart, toUsageLine, sumLines, usageCommand } from './sums.ts';
import type { UsageRow } from '../money/spend.ts';
import { UsageTable } from './usage-table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { LinkButton } from '../../ui/link.tsx';

const rangeLabels: Readonly<Record<Range, string>> = {
  '7d': 'Last 7 days',
  '31d': 'Last 31 days',
  '90d': 'Last 90 days',
  '366d': 'Last 366 days',
  month: 'This month',
  'last-month': 'Last month',
  days: 'Custom',
};
const groupingLabels: Readonly<Record<Grouping, string>> = {
  day: 'Day',
  product: 'Product',
  model: 'Model',
  key: 'API key',
  rental: 'Rental',
  volume: 'Volume',
};

export function UsagePage() {
  const session = useSession();
  // The router keeps values that the validation dropped.
  const search = parseUsageSearch(useSearch({ from: '/shell/inside/usage' }));
  const navigate = useNavigate();
  const denied = session.mayNot('billing:read');
  return (
    <>
      <PageHeader
        title="Usage"
        about="Your usage and its cost. Days are in UTC."
        actions={<ExportButton search={search} off={denied} />}
      />
      <Tabs
        label="Usage"
        open={viewOf(search)}
        onOpen={(view) =>
          void navigate({ to: '/usage', search: parseUsageSearch({ ...search, view }), replace: true })
        }
        tabs={[
          {
            id: 'spending',
            label: 'Spending',
            content: () => (denied === false ? <Sums search={search} /> : <Note tone="warn">{denied}</Note>),
          },
          { id: 'requests', label: 'Requests', content: () => <Requests search={search} /> },
        ]}
      />
    </>
  );
}

function Requests({ search }: Readonly<{ search: UsageSearch }>) {
  const { may } = useSession();
  return (
    <>
      {search.batch !== undefined && may('usage:read') && <BatchCard batchId={search.batch} />}
      <RequestCard key={search.request ?? ''} requestId={search.request} />
    </>
  );
}

function usePeriod(search: UsageSearch): Period {
  const [now] = useState(nowMs);
  const { range, from, to } = search;
  return useMemo(
    () => usagePeriod({ ...(range && { range }), ...(from && { from }), ...(to && { to }) }, now),
    [range, from, to, now],
  );
}

function ExportButton({ search, off }: Readonly<{ search: UsageSearch; off: string | false }>) {
  const { from, until } = usePeriod(search);
  const save = useApiMutation(
    async (client, period: { readonly from: string; readonly until: string }) =>
      download(await client.usage.exportCosts(period).asResponse(), 'costs.csv'),
    { changes: [] },
  );
  return (
    <div className="flex flex-col items-end gap-2">
      <Button
        icon={<Download aria-hidden className="size-4" />}
        off={off}
        busy={save.isPending && 'Preparing…'}
        onClick={() => save.mutate({ from, until })}
      >
        Download CSV (FOCUS)
      </Button>
      {save.error !== null && <Problem error={save.error} doing="download the costs" />}
    </div>
  );
}

function Sums({ search }: Readonly<{ search: UsageSearch }>) {
  const period = usePeriod(search);
  const by = search.by ?? 'day';
  const { from, until } = period;
  const days = useApiQuery(
    ['usage', 'day', from, until],
    (client, signal) => client.usage.list({ groupBy: 'day', from, until, limit: 200 }, { signal }).all(),
    { refetchMs: 30_000, keepPrevious: true },
  );
  return (
    <>
      <Filters search={search} period={period} />
      <QueryView query={days} what="usage">
        {(rows: readonly UsageRow[]) =>
          rows.length === 0 ? (
            <NothingUsed />
          ) : (
            <>
              <Totals days={rows} />
              <SpendChart days={rows} period={period} />
              <UsageTable by={by} period={period} days={rows} />
            </>
          )
        }
      </QueryView>
      <CommandHint command={usageCommand(by, period)} />
    </>
  );
}

function Filters({ search, period }: Readonly<{ search: UsageSearch; period: Period }>) {
  const navigate = useNavigate();
  const { by = 'day', range = '31d' } = search;
  const go = (next: UsageSearch): void =>
    void navigate({ to: '/usage', search: { ...search, ...next }, replace: true });
  return (
    <div className="mb-4 flex flex-wrap items-end gap-3">
      <SelectField
        label="Period"
        value={range}
        choices={ranges.map((value) => ({ value, label: rangeLabels[value] }))}
        onValue={(range) =>
          go(range === 'days' ? { range, from: period.firstDay, to: period.lastDay } : { range })
        }
      />
      {range === 'days' && (
        <>
          <TextField
            label="From"
            type="date"
            value={period.firstDay}
            max={period.lastDay}
            onValue={(value) => value !== '' && go({ from: value })}
          />
          <TextField
            label="Through"
            type="date"
            value={period.lastDay}
            min={period.firstDay}
            onValue={(value) => value !== '' && go({ to: value })}
          />
        </>
      )}
      <SelectField
        label="Group by"
        value={by}
        choices={groupings.map((value) => ({ value, label: groupingLabels[value] }))}
        onValue={(by) => go({ by })}
      />
      <p className="text-soft pb-2 text-xs">
        {dayText(period.firstDay)} to {dayText(period.lastDay)}
      </p>
    </div>
  );
}

function Totals({ days }: Readonly<{ days: readonly UsageRow[] }>) {
  const { amount, requests, tokensIn, tokensOut } = sumLines(days.map(toUsageLine));
  return (
    <KeyFigures
      items={[
        { label: 'Spent', value: <HeadlineMoney nano={amount} /> },
        { label: 'Requests', value: requests.toLocaleString() },
        { label: 'Input tokens', value: tokensIn.toLocaleString() },
        { label: 'Output tokens', value: tokensOut.toLocaleString() },
      ]}
    />
  );
}

function SpendChart({ days, period }: Readonly<{ days: readonly UsageRow[]; period: Period }>) {
  const { firstDay, lastDay } = period;
  const chart = useMemo(() => {
    const { seconds, usd } = dailyChart(days, { firstDay, lastDay });
    return { seconds, series: [{ label: 'Spent', values: usd }] };
  }, [days, firstDay, lastDay]);
  return (
    <Card title="Daily spending">
      <Chart label="Daily spending" kind="bars" {...chart} format={usdNumberText} />
    </Card>
  );
}

function NothingUsed() {
  const session = useSession();
  return (
    <Card>
      {session.place.mode === 'test' ? (
        <EmptyState
          icon={ChartColumn}
          title="Test mode is free"
          action={
            <div className="flex flex-wrap gap-2">
              <LinkButton to="/usage" search={{ view: 'requests' }} kind="primary">
                Look up a request
              </LinkButton>
              <Button onClick={() => session.go({ mode: 'live' })}>Switch to live mode</Button>
            </div>
          }
        >
          Nothing is charged, so there is no spending to show. A single request shows what it would cost in
          live mode.
        </EmptyState>
      ) : (
        <EmptyState
          icon={ChartColumn}
          title="No usage in this period"
          action={
            <LinkButton to="/playground" kind="primary">
              Try a model
            </LinkButton>
          }
        >
          Choose another period, or try a model.
        </EmptyState>
      )}
    </Card>
  );
}
