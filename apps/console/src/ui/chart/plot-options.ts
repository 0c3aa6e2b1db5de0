import uPlot from 'uplot';
import { scaleTicks, tickLabels } from './scale.ts';
import { axisRange } from './domain.ts';
import { lonePoints } from './gaps.ts';
import type { Palette } from './palette.ts';
import type { timeTexts } from './time-text.ts';
import type { ChartProps, TimeRange } from './types.ts';

export interface Drawing extends Required<
  Pick<ChartProps, 'kind' | 'seconds' | 'series' | 'format' | 'height' | 'base'>
> {
  readonly width: number;
  /** All times that can be shown. */
  readonly whole: TimeRange;
  /** Read at each drawing, because the theme may change. */
  readonly palette: () => Palette;
  readonly times: ReturnType<typeof timeTexts>;
  readonly onCursor: (plot: uPlot) => void;
  readonly onRange: (range: TimeRange) => void;
}

/** Space above the top grid line, so that its half width is not clipped. */
const HEADROOM = 1.02;
const AXIS_WIDTH = 72;
const BAR_SHARE = 0.7;
const BAR_MAX_PX = 48;
const DASH = [6, 4];

export function plotOptions(drawing: Drawing): uPlot.Options {
  const { kind, width, height, onCursor, onRange } = drawing;
  return {
    width,
    height,
    // Without it, the first label of the time axis is cut off.
    padding: [12, 12, 0, 0],
    cursor: { y: false, points: { size: 8 }, drag: { x: true, y: false, dist: 6 } },
    legend: { show: false },
    ...axesAndScales(drawing),
    series: [{}, ...seriesOptions(drawing)],
    // Bars are UTC days.
    ...(kind === 'bars' && { tzDate: (second: number) => uPlot.tzDate(new Date(second * 1000), 'Etc/UTC') }),
    hooks: {
      setCursor: [onCursor],
      setScale: [
        (plot, key) => {
          const { min, max } = plot.scales['x'] ?? {};
          if (key === 'x' && min !== undefined && max !== undefined) onRange({ min, max });
        },
      ],
    },
  };
}

function axesAndScales({ base, format, whole, seconds, palette, times }: Drawing): Partial<uPlot.Options> {
  let ticks: readonly number[] = [];
  const axis: uPlot.Axis = {
    stroke: () => palette().text,
    font: palette().font,
    grid: { stroke: () => palette().grid, width: 1 },
    ticks: { show: false },
  };
  return {
    scales: {
      x: {
        range: (_, low, high) => axisRange({ low, high }, { seconds, whole }),
      },
      y: {
        // The highest visible point is never above the top grid line.
        range: (_, low, high) => {
          ticks = scaleTicks(high ?? 0, base, low ?? 0);
          return [(ticks[0] ?? 0) * HEADROOM, (ticks.at(-1) ?? 1) * HEADROOM];
        },
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 64,
        size: 32,
        gap: 8,
        values: (_, at, _axis, _space, step) => at.map((second) => times.tick(second, step)),
      },
      {
        ...axis,
        size: AXIS_WIDTH,
        splits: () => [...ticks],
        values: (_, lines) => tickLabels(lines.map((line) => format(line))),
      },
    ],
  };
}

function seriesOptions({ kind, series, palette }: Drawing): uPlot.Series[] {
  const bars = uPlot.paths.bars?.({ size: [BAR_SHARE, BAR_MAX_PX], radius: 0.1 });
  return series.map(({ label }, index) => {
    const colour = (): string => {
      const { series: colours, text } = palette();
      return colours[index % colours.length] ?? text;
    };
    if (kind === 'bars' && bars !== undefined) {
      return { label, stroke: colour, fill: colour, width: 0, paths: bars, points: { show: false } };
    }
    return {
      label,
      stroke: colour,
      width: 1.75,
      spanGaps: false,
      ...(index >= palette().series.length && { dash: DASH }),
      points: {
        size: 5,
        filter: (plot, at, show) => (show ? null : lonePoints(plot.data[at] ?? [])),
      },
    };
  });
}
