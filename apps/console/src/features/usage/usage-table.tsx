import { exactDuration, scaleTo } from '@millrace/sdk/text';
import { ChartColumn } from 'lucide-react';
import type { ReactNode } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { useResourceNames } from '../../api/use-resource-names.ts';
import { useSession } from '../../api/session.tsx';
import { Id } from '../../ui/copy.tsx';
import { dayText } from '../../ui/logic/day-text.ts';
import { Money } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { TableSkeleton } from '../../ui/skeleton.tsx';
import { EmptyState, QueryView } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import type { Grouping, Period } from './search.ts';
import { sortLines, toUsageLine, productLines, shareText, sumLines, type UsageLine } from './sums.ts';
import type { UsageRow } from '../money/spend.ts';
import { TextLink } from '../../ui/link.tsx';

const columnHeaders: Readonly<Record<Grouping, string>> = {
  day: 'Day',
  product: 'Product',
  model: 'Model',
  key: 'API key',
  rental: 'Rental',
  volume: 'Volume',
};

/** Describes spending that a grouping does not cover. */
const remainderLabels: Readonly<Record<Grouping, string>> = {
  day: '',
  product: '',
  model: 'is not for models',
  key: 'was not used through an API key',
  rental: 'is not for rentals',
  volume: 'is not for volumes',
};

const linesMax = 1_000;

export function UsageTable(props: Readonly<{ by: Grouping; period: Period; days: readonly UsageRow[] }>) {
  const { by, period, days } = props;
  const { from, until } = period;
  const isOfDays = by === 'day' || by === 'product';
  const grouped = useApiQuery(
    ['usage', by, from, until],
    (client, signal) =>
      isOfDays
        ? Promise.resolve([])
        : client.usage.list({ groupBy: by, from, until, limit: 200 }, { signal }).all({ max: linesMax }),
    { refetchMs: isOfDays ? false : 30_000, enabled: !isOfDays },
  );
  const whole = sumLines(days.map(toUsageLine)).amount;
  const show = (lines: readonly UsageLine[]) => <Lines by={by} lines={sortLines(lines, by)} whole={whole} />;
  return (
    <Card title={`Spending by ${columnHeaders[by].toLowerCase()}`} flush>
      {by === 'day' && show(days.map(toUsageLine))}
      {by === 'product' && show(productLines(days))}
      {!isOfDays && (
        <QueryView query={grouped} what="lines">
          {(rows: readonly UsageRow[]) => show(rows.map(toUsageLine))}
        </QueryView>
      )}
    </Card>
  );
}

interface LinesProps {
  readonly by: Grouping;
  readonly lines: readonly UsageLine[];
  readonly whole: bigint;
}

function Lines({ by, lines, whole }: LinesProps) {
  const keys = useKeyNames(by === 'key');
  const { isLoading, nameOf } = useResourceNames([], by === 'rental' || by === 'volume' ? [by] : []);
  const total = sumLines(lines).amount;
  if (lines.length === 0) {
    return (
      <EmptyState icon={ChartColumn} title={`No usage by ${columnHeaders[by].toLowerCase()} in this period`}>
        Your spending of <Money nano={whole} /> {remainderLabels[by]}.
      </EmptyState>
    );
  }
  if (isLoading) return <TableSkeleton what="lines" columns={7} />;
  const columns: readonly (Column<UsageLine> & { readonly when?: boolean })[] = [
    {
      head: columnHeaders[by],
      main: true,
      cell: ({ group }) => <Name by={by} group={group} keys={keys} name={nameOf({ kind: by, id: group })} />,
    },
    { head: 'Spent', right: true, cell: ({ amount }) => <Money nano={amount} /> },
    { head: 'Share', cell: ({ amount }) => <Share amount={amount} total={total} /> },
    {
      head: 'Requests',
      right: true,
      when: by !== 'product',
      cell: ({ requests }) => requests.toLocaleString(),
    },
    {
      head: 'Input tokens',
      right: true,
      when: by !== 'product',
      cell: ({ tokensIn }) => tokensIn.toLocaleString(),
    },
    {
      head: 'Output tokens',
      right: true,
      when: by !== 'product',
      cell: ({ tokensOut }) => tokensOut.toLocaleString(),
    },
    {
      head: 'GPU time',
      right: true,
      when: by !== 'product' && by !== 'model',
      cell: ({ gpuSeconds }) => exactDuration(gpuSeconds),
    },
  ];
  return (
    <>
      <Table
        caption={`Usage by ${columnHeaders[by].toLowerCase()}`}
        columns={columns.filter(({ when }) => when ?? true)}
        rows={lines}
        rowKey={({ group }) => group}
      />
      <p className="border-line border-t px-4 py-2.5 font-medium">
        {lines.length === 1 ? '1 line' : `${String(lines.length)} lines`}: <Money nano={total} />
        {total !== whole && remainderLabels[by] !== '' && (
          <span className="text-soft font-normal">
            {' '}
            of <Money nano={whole} />; the rest of <Money nano={whole - total} /> {remainderLabels[by]}
          </span>
        )}
      </p>
      {lines.length >= linesMax && (
        <p className="text-soft px-4 pb-3 text-xs">
          Showing the first {linesMax} lines. The CSV file has all lines.
        </p>
      )}
    </>
  );
}

/** Share of the total, as bar and text: a full bar is all of it. */
function Share({ amount, total }: Readonly<{ amount: bigint; total: bigint }>) {
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <span
        aria-hidden
        className="bg-raised hidden h-2 w-16 shrink-0 overflow-hidden rounded-sm md:inline-block"
      >
        <span
          className="bg-accent block h-full"
          style={{ width: `${String(scaleTo(amount, total, 64))}px` }}
        />
      </span>
      <span className="tabular-nums">{shareText(amount, total)}</span>
    </span>
  );
}

/** Key names, if the user may read them. */
function useKeyNames(wanted: boolean): ReadonlyMap<string, string> | null {
  const session = useSession();
  const { data } = useApiQuery(
    ['keys', 'names'],
    async (client, signal) => {
      const keys = await client.keys.list({ limit: 100 }, { signal }).all({ max: linesMax });
      return new Map(keys.map(({ id, name }) => [id, name]));
    },
    { enabled: wanted && session.may('api-keys:read') },
  );
  return data ?? null;
}

interface NameProps {
  readonly by: Grouping;
  readonly group: string;
  readonly keys: ReadonlyMap<string, string> | null;
  /** Of a rental or volume; null if it has none. */
  readonly name: string | null;
}

function Name({ by, group, keys, name }: NameProps): ReactNode {
  switch (by) {
    case 'rental':
      return (
        <>
          <TextLink to="/rentals/$rentalId" params={{ rentalId: group }}>
            {name ?? `Rental ${group}`}
          </TextLink>
          {name !== null && <span className="text-soft block text-xs font-normal">Rental {group}</span>}
        </>
      );
    case 'volume':
      return (
        <>
          <TextLink to="/volumes/$volumeId" params={{ volumeId: group }}>
            {name ?? `Volume ${group}`}
          </TextLink>
          {name !== null && <span className="text-soft block text-xs font-normal">Volume {group}</span>}
        </>
      );
    case 'key':
      return (
        <span className="flex flex-col">
          {keys === null ? null : (keys.get(group) ?? 'Signed-in user')}
          <span className="text-soft text-xs font-normal">
            <Id value={group} what="key ID" />
          </span>
        </span>
      );
    case 'day':
      return dayText(group);
    case 'product':
    case 'model':
      return group;
  }
}
