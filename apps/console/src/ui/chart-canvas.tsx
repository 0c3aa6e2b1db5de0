import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { tickLabel, scaleTicks, type ScaleBase } from './chart-scale.ts';

export interface Series {
  readonly label: string;
  /** One value per entry of `seconds`; null for a gap. */
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  /** Caption, also for screen readers. */
  readonly label: string;
  readonly kind?: 'line' | 'bars';
  /** Unix times in seconds, ascending. */
  readonly seconds: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Scale of the grid lines; decimal by default. */
  readonly base?: ScaleBase;
  readonly height?: number;
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const daySeconds = 86_400;

/** Time of day, or the date if ticks are a day or more apart, in the user's locale. */
function tickText(second: number, stepSeconds: number): string {
  return (stepSeconds < daySeconds ? clock : day).format(second * 1000);
}

const strokes = ['--color-accent', '--color-info', '--color-warn', '--color-bad', '--color-good'];

/** Canvas does not support light-dark(), so the colour is read from an element. */
function colour(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function highestValue(series: readonly Series[]): number {
  return Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
}

function latestValue(values: ArrayLike<number | null | undefined> | undefined): number | null {
  for (let at = (values?.length ?? 0) - 1; at >= 0; at -= 1) {
    const value = values?.[at] ?? null;
    if (value !== null) return value;
  }
  return null;
}

type Drawing = Required<Pick<ChartProps, 'kind' | 'series' | 'format' | 'height' | 'base'>>;

function optionsOf({ kind, series, format, height, base }: Drawing, width: number): uPlot.Options {
  const ticks = scaleTicks(highestValue(series), base);
  const axis = {
    stroke: colour('--color-soft'),
    grid: { stroke: colour('--color-line') },
    ticks: { show: false },
  };
  const bars = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.7, 48] }) : undefined;
  return {
    width,
    height,
    cursor: { y: false },
    legend: { live: true },
    // Leave space so that the top grid line is not clipped.
    scales: { y: { range: (_, low) => [Math.min(0, low), (ticks.at(-1) ?? 1) * 1.02] } },
    axes: [
      { ...axis, values: (_, times, _axis, _space, incr) => times.map((time) => tickText(time, incr)) },
      {
        ...axis,
        size: 76,
        splits: () => [...ticks],
        values: (_, lines) => lines.map((line) => tickLabel(format(line))),
      },
    ],
    series: [
      {
        // Without a pointer, the legend shows the latest values.
        value: (plot, second: number | null, _series, index) => {
          const shown = index === null ? latestValue(plot.data[0]) : second;
          return shown === null ? '–' : moment.format(shown * 1000);
        },
      },
      ...series.map(({ label }, index) => {
        const stroke = colour(strokes[index % strokes.length] ?? '--color-accent');
        return {
          label,
          stroke,
          width: 2,
          value: (plot: uPlot, value: number | null, at: number, index: number | null) => {
            const shown = index === null ? latestValue(plot.data[at]) : value;
            return shown === null ? 'no value' : format(shown);
          },
          ...(bars === undefined ? {} : { paths: bars, fill: stroke, points: { show: false } }),
        };
      }),
    ],
  };
}

/** Enough for a screen reader user to read row by row. */
const rowsMax = 200;

export function ChartCanvas(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const { seconds, series, label, format, kind = 'line', height = 200, base = 'decimal' } = props;
  // Redraw only when the data changes: pages re-render every second, and a chart may have ten thousand points.
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const data: uPlot.AlignedData = [[...seconds], ...series.map(({ values }) => [...values])];
    const plot = new uPlot(
      optionsOf({ kind, series, format, height, base }, element.clientWidth),
      data,
      element,
    );
    const watcher = new ResizeObserver(() => {
      if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height });
    });
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [kind, seconds, series, format, height, base]);
  const rows = seconds.slice(-rowsMax);
  const skipped = seconds.length - rows.length;
  return (
    <figure className="min-w-0">
      <div ref={place} aria-hidden className="min-w-0 overflow-hidden" />
      <details className="text-soft mt-1 text-xs">
        <summary>{label} as table</summary>
        <div className="max-h-60 overflow-auto">
          <table className="w-full text-left">
            <caption className="sr-only">{label}</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map((each) => (
                  <th key={each.label} scope="col">
                    {each.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((second, index) => (
                <tr key={second}>
                  <td>{moment.format(second * 1000)}</td>
                  {series.map((each) => {
                    const value = each.values[index + skipped] ?? null;
                    return <td key={each.label}>{value === null ? '–' : format(value)}</td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {skipped > 0 && <p>The table omits the first {skipped} values.</p>}
      </details>
    </figure>
  );
}
