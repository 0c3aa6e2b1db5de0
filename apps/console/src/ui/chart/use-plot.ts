import { useCallback, useEffect, useRef, useState, type RefObject } from 'react';
import uPlot from 'uplot';
import { onPaletteChange, readPalette } from './palette.ts';
import { plotOptions, type Drawing } from './plot-options.ts';
import type { TimeRange } from './types.ts';
import { keepZoom } from './zoom.ts';

/** The sample under the pointer or chosen by keyboard. */
export interface ChartPoint {
  readonly index: number;
  /** Pixels from the left edge of the figure, and the width of the figure. */
  readonly left: number;
  readonly width: number;
}

export interface Plot {
  readonly place: RefObject<HTMLDivElement | null>;
  readonly point: ChartPoint | null;
  /** Null: everything is shown. */
  readonly zoom: TimeRange | null;
  zoomTo(range: TimeRange | null): void;
  /** Moves the cursor; null hides it. */
  choose(index: number | null): void;
  show(series: number, isShown: boolean): void;
}

type PlotInput = Omit<Drawing, 'width' | 'palette' | 'onCursor' | 'onRange'>;

const OUTSIDE = { left: -10, top: -10 };

/** Draws on a canvas and keeps the zoom when new data arrives. `input` must be memoized: each change creates a new drawing. */
export function usePlot(input: PlotInput): Plot {
  const place = useRef<HTMLDivElement>(null);
  const current = useRef<uPlot | null>(null);
  const retained = useRef<{ zoom: TimeRange | null; hidden: Set<number> }>({ zoom: null, hidden: new Set() });
  const [point, setPoint] = useState<ChartPoint | null>(null);
  const [zoom, setZoom] = useState<TimeRange | null>(null);
  const { seconds, series, whole, height } = input;

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    let palette = readPalette(element);
    const onCursor = (plot: uPlot): void => setPoint(pointOf(plot, element));
    const onRange = (range: TimeRange): void => {
      const isWhole = range.min <= whole.min && range.max >= whole.max;
      retained.current.zoom = isWhole ? null : range;
      setZoom(retained.current.zoom);
    };
    const options = plotOptions({
      ...input,
      width: element.clientWidth,
      palette: () => palette,
      onCursor,
      onRange,
    });
    for (const index of retained.current.hidden)
      Object.assign(options.series[index + 1] ?? {}, { show: false });
    const range = keepZoom(retained.current.zoom, whole);
    const plot = new uPlot(options, [[...seconds], ...series.map(({ values }) => [...values])], element);
    if (range !== null) plot.setScale('x', range);
    current.current = plot;
    const watcher = new ResizeObserver(() => {
      if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height });
    });
    watcher.observe(element);
    const stopPalette = onPaletteChange(() => {
      palette = readPalette(element);
      // Rebuilds the paths, because uPlot stores the colour of bars in them. Labels may need more space in another font.
      plot.redraw(true, true);
    });
    return () => {
      stopPalette();
      watcher.disconnect();
      plot.destroy();
      current.current = null;
    };
  }, [input, seconds, series, whole, height]);

  const zoomTo = useCallback(
    (range: TimeRange | null) => {
      current.current?.setScale('x', range ?? whole);
    },
    [whole],
  );
  const choose = useCallback(
    (index: number | null) => {
      const plot = current.current;
      if (plot === null) return;
      const second = index === null ? undefined : seconds[index];
      plot.setCursor(second === undefined ? OUTSIDE : { left: plot.valToPos(second, 'x'), top: 0 });
    },
    [seconds],
  );
  const show = useCallback((index: number, isShown: boolean) => {
    if (isShown) retained.current.hidden.delete(index);
    else retained.current.hidden.add(index);
    current.current?.setSeries(index + 1, { show: isShown });
  }, []);
  return { place, point, zoom, zoomTo, choose, show };
}

function pointOf(plot: uPlot, { clientWidth: width }: HTMLElement): ChartPoint | null {
  const { idx: index } = plot.cursor;
  if (index === null || index === undefined) return null;
  const second = plot.data[0][index] ?? 0;
  return { index, left: plot.valToPos(second, 'x') + plot.over.offsetLeft, width };
}
