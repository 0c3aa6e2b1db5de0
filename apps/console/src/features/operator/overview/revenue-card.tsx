import { ChartColumn } from 'lucide-react';
import { Money } from '../../../ui/money.tsx';
import { Card } from '../../../ui/page.tsx';
import { EmptyState } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { RelativeTime, useNow } from '../../../ui/time.tsx';
import { products } from '../../money/spend.ts';
import { SpendChart } from '../../money/spend-chart.tsx';
import type { AdminOverview } from './operator-attention.ts';
import { revenueDays } from './revenue-days.ts';

type Revenue = AdminOverview['revenue'];

interface ProductRow {
  readonly id: string;
  readonly label: string;
  readonly today: string;
  readonly month: string;
}

const columns: readonly Column<ProductRow>[] = [
  { head: 'Product', main: true, cell: ({ label }) => label },
  { head: 'Today', right: true, cell: ({ today }) => <Money nano={today} /> },
  { head: 'This month', right: true, cell: ({ month }) => <Money nano={month} /> },
];

function productRows({ today, month }: Revenue): readonly ProductRow[] {
  return products.flatMap(([id, label]) =>
    id === 'other' ? [] : [{ id, label, today: today.products[id], month: month.products[id] }],
  );
}

export function RevenueCard({ revenue }: Readonly<{ revenue: Revenue }>) {
  const now = useNow(60_000);
  return (
    <Card
      title="Revenue by product"
      about={
        <>
          Your share of all charges, less refunds. Read <RelativeTime at={revenue.readAt} />.
        </>
      }
      flush
    >
      {revenue.days.length === 0 ? (
        <EmptyState icon={ChartColumn} title="No revenue in the last 31 days">
          It appears here when an organisation pays for a machine or a model.
        </EmptyState>
      ) : (
        <>
          <div className="p-4">
            <SpendChart days={revenueDays(revenue.days, now)} what="revenue" />
          </div>
          <Table caption="Revenue by product" columns={columns} rows={productRows(revenue)} />
        </>
      )}
    </Card>
  );
}
