import { useEffect, useRef } from 'react';
import uPlot from 'uplot';

export interface Series {
  readonly label: string;
  /** One value for each moment; null where there is none. */
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  /** What is shown, for the caption and for screen readers. */
  readonly label: string;
  readonly kind?: 'line' | 'bars';
  /** Moments in seconds since 1970, ascending. */
  readonly seconds: readonly number[];
  readonly series: readonly Series[];
  /** A value as text, with its unit. */
  readonly format: (value: number) => string;
  readonly height?: number;
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const daySeconds = 86_400;

/** The time of day, or the day where the steps are that wide: in the reader's own way. */
function tickText(second: number, stepSeconds: number): string {
  return (stepSeconds < daySeconds ? clock : day).format(second * 1000);
}

const strokes = ['--color-accent', '--color-info', '--color-warn', '--color-bad', '--color-good'];

/** Canvas knows no light-dark(): the colour is asked of an element that has it. */
function colour(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

type Drawing = Required<Pick<ChartProps, 'kind' | 'series' | 'format' | 'height'>>;

function optionsOf({ kind, series, format, height }: Drawing, width: number): uPlot.Options {
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
    scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis, values: (_, ticks, _axis, _space, incr) => ticks.map((tick) => tickText(tick, incr)) },
      { ...axis, size: 76, values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      { value: (_, second: number | null) => (second === null ? '–' : moment.format(second * 1000)) },
      ...series.map(({ label }, index) => {
        const stroke = colour(strokes[index % strokes.length] ?? '--color-accent');
        return {
          label,
          stroke,
          width: 2,
          value: (_: uPlot, value: number | null) => (value === null ? 'no value' : format(value)),
          ...(bars === undefined ? {} : { paths: bars, fill: stroke, points: { show: false } }),
        };
      }),
    ],
  };
}

/** More rows help nobody who reads them one by one. */
const rowsMax = 200;

export function ChartCanvas(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const { seconds, series, label, format, kind = 'line', height = 200 } = props;
  // Drawn anew only when what is drawn has changed: pages are drawn every second, and ten thousand points are not.
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const data: uPlot.AlignedData = [[...seconds], ...series.map(({ values }) => [...values])];
    const plot = new uPlot(optionsOf({ kind, series, format, height }, element.clientWidth), data, element);
    const watcher = new ResizeObserver(() => {
      if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height });
    });
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [kind, seconds, series, format, height]);
  const rows = seconds.slice(-rowsMax);
  const skipped = seconds.length - rows.length;
  return (
    <figure className="min-w-0">
      <div ref={place} aria-hidden className="min-w-0 overflow-hidden" />
      <details className="text-soft mt-1 text-xs">
        <summary>{label} as a table</summary>
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
        {skipped > 0 && <p>The first {skipped} values are only in the picture.</p>}
      </details>
    </figure>
  );
}
