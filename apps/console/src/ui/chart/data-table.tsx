import type { ChartProps } from './types.ts';

/** Enough for a screen reader user to read row by row. */
const rowsMax = 200;

interface DataTableProps extends Pick<ChartProps, 'label' | 'seconds' | 'series' | 'format'> {
  readonly timeText: (second: number) => string;
}

/** The values of a chart, for users who do not see it and for copying. */
export function DataTable({ label, seconds, series, format, timeText }: DataTableProps) {
  const rows = seconds.slice(-rowsMax);
  const skipped = seconds.length - rows.length;
  return (
    <details className="text-soft mt-2 text-xs">
      <summary>{label} as table</summary>
      {/* Keyboard users must be able to scroll it. */}
      <div
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="region"
        aria-label={`${label} as table`}
        className="mt-1 max-h-60 overflow-auto"
      >
        <table className="w-full text-left">
          <caption className="sr-only">{label}</caption>
          <thead>
            <tr>
              <th scope="col" className="pr-3 font-medium">
                Time
              </th>
              {series.map((each) => (
                <th key={each.label} scope="col" className="px-2 text-right font-medium">
                  {each.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((second, index) => (
              <tr key={second}>
                <td className="pr-3 whitespace-nowrap">{timeText(second)}</td>
                {series.map((each) => {
                  const value = each.values[index + skipped] ?? null;
                  return (
                    <td key={each.label} className="px-2 text-right">
                      {value === null ? '–' : format(value)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {skipped > 0 && <p>The table omits the first {skipped} values.</p>}
    </details>
  );
}
