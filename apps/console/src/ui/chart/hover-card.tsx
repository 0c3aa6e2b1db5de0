import { swatchClass } from './palette.ts';
import type { ChartProps } from './types.ts';

interface HoverCardProps extends Pick<ChartProps, 'series' | 'format'> {
  readonly index: number;
  readonly time: string;
  /** Position of the point in the figure, and the width of the figure, in pixels. */
  readonly left: number;
  readonly width: number;
  readonly isShown: (series: number) => boolean;
}

/** Values of all series at one moment, on the side of the point that has more space. */
export function HoverCard({ series, format, index, time, left, width, isShown }: HoverCardProps) {
  const side = left > width * 0.5 ? { right: width - left + 12 } : { left: left + 12 };
  return (
    <div
      aria-hidden
      style={side}
      className="border-line bg-surface pointer-events-none absolute top-2 z-10 min-w-36 rounded-md border px-2.5 py-2 text-xs shadow-lg"
    >
      <p className="text-soft mb-1 whitespace-nowrap">{time}</p>
      <ul className="flex flex-col gap-0.5">
        {series.map(({ label, values }, at) =>
          isShown(at) ? (
            <li key={label} className="flex items-center gap-1.5 whitespace-nowrap">
              <span className={`size-2 shrink-0 rounded-full ${swatchClass(at)}`} />
              {label}
              <span className="ml-auto pl-3 font-medium">{valueText(values[index] ?? null, format)}</span>
            </li>
          ) : null,
        )}
      </ul>
    </div>
  );
}

function valueText(value: number | null, format: ChartProps['format']): string {
  return value === null ? 'no data' : format(value);
}

/** The same for screen readers: `18 Nov 2026: GPU 0 45 %, GPU 1 no data`. */
export function pointText(
  time: string,
  { series, format, index }: Pick<HoverCardProps, 'series' | 'format' | 'index'>,
): string {
  const values = series.map(({ label, values }) => `${label} ${valueText(values[index] ?? null, format)}`);
  return `${time}: ${values.join(', ')}`;
}
