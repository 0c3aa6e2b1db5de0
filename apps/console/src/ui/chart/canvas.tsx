import { useMemo, useState } from 'react';
import { ChartControls } from './controls.tsx';
import { DataTable } from './data-table.tsx';
import { leastZoom, wholeRange } from './domain.ts';
import { breakAtGaps } from './gaps.ts';
import { HoverCard, pointText } from './hover-card.tsx';
import { PointSlider } from './point-slider.tsx';
import { timeTexts } from './time-text.ts';
import { DEFAULT_HEIGHT, type ChartProps } from './types.ts';
import { usePlot } from './use-plot.ts';
import { indicesIn, zoomAround } from './zoom.ts';

export function ChartCanvas(props: ChartProps) {
  const { label, seconds, series, format, kind = 'line', height = DEFAULT_HEIGHT, base = 'decimal' } = props;
  // Pages re-render every second, and a chart may have ten thousand points.
  const input = useMemo(() => {
    const samples = kind === 'bars' ? { seconds, series } : breakAtGaps({ seconds, series });
    return {
      ...samples,
      kind,
      format,
      height,
      base,
      whole: wholeRange(seconds, kind),
      times: timeTexts(kind),
    };
  }, [seconds, series, kind, format, height, base]);
  const { place, point, zoom, zoomTo, choose, show } = usePlot(input);
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const { whole, times } = input;
  const range = zoom ?? whole;
  const [first, last] = indicesIn(input.seconds, range);
  const index = Math.min(Math.max(point?.index ?? last, first), last);
  const time = times.point(input.seconds[index] ?? 0);
  const zoomBy = (factor: number): void => {
    const centre = point === null ? (range.min + range.max) * 0.5 : (input.seconds[point.index] ?? range.min);
    zoomTo(zoomAround(range, factor, { centre, whole, least: leastZoom(seconds) }));
  };
  return (
    <figure className="min-w-0">
      <div className="has-[input:focus-visible]:outline-accent relative rounded-md has-[input:focus-visible]:outline-2">
        <PointSlider
          label={label}
          first={first}
          last={last}
          index={index}
          text={pointText(time, { series: input.series, format, index })}
          onChoose={choose}
          onKey={{
            '+': () => zoomBy(0.5),
            '=': () => zoomBy(0.5),
            '-': () => zoomBy(2),
            '0': () => zoomTo(null),
          }}
        />
        <div ref={place} aria-hidden className="min-w-0 overflow-hidden" style={{ minHeight: height }} />
        {point !== null && (
          <HoverCard
            {...point}
            time={time}
            series={input.series}
            format={format}
            isShown={(at) => !hidden.has(at)}
          />
        )}
      </div>
      <ChartControls
        label={label}
        series={series}
        hidden={hidden}
        onToggle={(at) => {
          show(at, hidden.has(at));
          setHidden(new Set(hidden.has(at) ? [...hidden].filter((each) => each !== at) : [...hidden, at]));
        }}
        isZoomed={zoom !== null}
        onZoomIn={() => zoomBy(0.5)}
        onZoomOut={() => zoomBy(2)}
        onReset={() => zoomTo(null)}
      />
      <DataTable {...{ label, seconds, series, format }} timeText={times.point} />
    </figure>
  );
}
