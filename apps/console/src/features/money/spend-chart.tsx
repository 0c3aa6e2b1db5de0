import { scaleTo, usdText } from '@millrace/sdk/text';
import { ChartColumn } from 'lucide-react';
import { dayText, shortDayText } from '../../ui/logic/day-text.ts';
import { Money } from '../../ui/money.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { productsIn, spendScale, type Product, type SpendDay } from './spend.ts';
import { TextLink } from '../../ui/link.tsx';

/** Colours of series, not of statuses: neighbours in a bar must differ for everyone. */
const fills: Readonly<Record<Product, string>> = {
  rentals: 'bg-chart-1',
  volumes: 'bg-chart-3',
  instances: 'bg-chart-2',
  inference: 'bg-chart-4',
  other: 'bg-chart-8',
};

/** Chart height in units of the bar layout. */
const CHART_HEIGHT_UNITS = 1_000;

interface SpendChartProps {
  readonly days: readonly SpendDay[];
  /** Noun for the texts, such as `revenue`. */
  readonly what?: string;
}

/** Stacked bars by day and product with a scale, and a data table below. */
export function SpendChart({ days, what = 'spending' }: SpendChartProps) {
  const scale = spendScale(days);
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
      <div aria-hidden className="pt-2">
        <div className="grid grid-cols-[auto_1fr] gap-x-2">
          <Scale labels={scale.labels} />
          <div className="relative h-43">
            <GridLines count={scale.labels.length} />
            <Bars days={days} shown={shown} top={scale.top} />
          </div>
          <div className="text-soft col-start-2 mt-1 flex justify-between text-xs">
            <span>{shortDayText(days[0]?.day ?? '')}</span>
            <span>{shortDayText(days.at(-1)?.day ?? '')}</span>
          </div>
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

/** Labels of the grid lines, the highest first, each in the middle of its line. */
function Scale({ labels }: Readonly<{ labels: readonly string[] }>) {
  return (
    <div className="text-soft flex h-43 flex-col justify-between text-right text-xs tabular-nums">
      {labels.map((label) => (
        <span key={label} className="flex h-0 items-center justify-end">
          {label}
        </span>
      ))}
    </div>
  );
}

function GridLines({ count }: Readonly<{ count: number }>) {
  return (
    <div className="absolute inset-0 flex flex-col justify-between">
      {Array.from({ length: count }, (_, index) => (
        <span key={index} className="border-line h-0 border-t" />
      ))}
    </div>
  );
}

interface BarsProps {
  readonly days: readonly SpendDay[];
  readonly shown: ReturnType<typeof productsIn>;
  /** Amount at the highest grid line. */
  readonly top: bigint;
}

function Bars({ days, shown, top }: BarsProps) {
  return (
    <div className="relative flex h-full items-end gap-px">
      {days.map(({ day, total, byProduct }) => (
        <div
          key={day}
          title={`${dayText(day)}: ${usdText(total)}`}
          className="hover:bg-raised flex h-full min-w-0 flex-1 flex-col justify-end"
        >
          {shown.toReversed().map(([product]) => {
            const height = scaleTo(byProduct[product], top, CHART_HEIGHT_UNITS);
            return height === 0 ? null : (
              <div
                key={product}
                className={`shrink-0 ${fills[product]}`}
                style={{ height: `calc(${String(height)}% * 0.1)`, minHeight: '2px' }}
              />
            );
          })}
        </div>
      ))}
    </div>
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
                  {dayText(day)}
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
