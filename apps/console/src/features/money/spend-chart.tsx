import { scaleTo, usdText } from '@millrace/sdk/text';
import { ChartColumn } from 'lucide-react';
import { Money } from '../../ui/money.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { largestDay, productsIn, type Product, type SpendDay } from './spend.ts';
import { TextLink } from '../../ui/link.tsx';

const fills: Readonly<Record<Product, string>> = {
  rentals: 'bg-accent',
  volumes: 'bg-info',
  instances: 'bg-good',
  inference: 'bg-warn',
  other: 'bg-soft',
};

/** Chart height in units of the bar layout. */
const CHART_HEIGHT_UNITS = 1_000;

interface SpendChartProps {
  readonly days: readonly SpendDay[];
  /** Noun for the texts, such as `revenue`. */
  readonly what?: string;
}

/** Stacked bars by day and product, with a data table below. */
export function SpendChart({ days, what = 'spending' }: SpendChartProps) {
  const most = largestDay(days);
  const shown = productsIn(days);
  if (shown.length === 0) {
    return (
      <EmptyState
        icon={ChartColumn}
        title="No spending in this period"
        action={<TextLink to="/catalog">Browse the catalog</TextLink>}
      />
    );
  }
  return (
    <figure className="min-w-0">
      <div aria-hidden>
        <p className="text-soft mb-1 text-xs">
          Highest day: <Money nano={most} />
        </p>
        <div className="border-line flex h-40 items-end gap-px border-b">
          {days.map(({ day, total, byProduct }) => (
            <div
              key={day}
              title={`${day}: ${usdText(total)}`}
              className="hover:bg-raised flex h-full min-w-0 flex-1 flex-col justify-end"
            >
              {shown.toReversed().map(([product]) => {
                const height = scaleTo(byProduct[product], most, CHART_HEIGHT_UNITS);
                return height === 0 ? null : (
                  <div
                    key={product}
                    className={fills[product]}
                    style={{ height: `calc(${String(height)}% * 0.1)`, minHeight: '1px' }}
                  />
                );
              })}
            </div>
          ))}
        </div>
        <div className="text-soft mt-1 flex justify-between text-xs">
          <span>{days[0]?.day}</span>
          <span>{days.at(-1)?.day}</span>
        </div>
        <ul className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs">
          {shown.map(([product, label]) => (
            <li key={product} className="flex items-center gap-1.5">
              <span className={`size-2.5 rounded-sm ${fills[product]}`} /> {label}
            </li>
          ))}
        </ul>
      </div>
      <DayTable days={days} shown={shown} what={what} />
    </figure>
  );
}

interface DayTableProps extends Required<SpendChartProps> {
  readonly shown: ReturnType<typeof productsIn>;
}

function DayTable({ days, shown, what }: DayTableProps) {
  return (
    <details className="text-soft mt-3 text-xs">
      <summary>Daily {what} as table</summary>
      {/* Keyboard users must be able to scroll it. */}
      <div
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="region"
        aria-label={`Daily ${what} as table`}
        className="max-h-60 overflow-auto"
      >
        <table className="w-full text-left">
          <caption className="sr-only">Daily {what} by product</caption>
          <thead>
            <tr>
              <th scope="col">Day</th>
              {shown.map(([product, label]) => (
                <th key={product} scope="col" className="px-2 text-right">
                  {label}
                </th>
              ))}
              <th scope="col" className="text-right">
                Total
              </th>
            </tr>
          </thead>
          <tbody>
            {days.toReversed().map(({ day, total, byProduct }) => (
              <tr key={day}>
                <th scope="row" className="font-normal whitespace-nowrap">
                  {day}
                </th>
                {shown.map(([product]) => (
                  <td key={product} className="px-2 text-right">
                    <Money nano={byProduct[product]} />
                  </td>
                ))}
                <td className="text-right">
                  <Money nano={total} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
