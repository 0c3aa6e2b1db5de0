import { RotateCcw, ZoomIn, ZoomOut } from 'lucide-react';
import { swatchClass } from './palette.ts';
import type { Series } from './types.ts';

interface ChartControlsProps {
  readonly label: string;
  readonly series: readonly Series[];
  /** Indices of the series that the user has hidden. */
  readonly hidden: ReadonlySet<number>;
  readonly onToggle: (series: number) => void;
  readonly isZoomed: boolean;
  readonly onZoomIn: () => void;
  readonly onZoomOut: () => void;
  readonly onReset: () => void;
}

const button =
  'text-soft hover:bg-raised hover:text-ink inline-flex h-6 items-center gap-1 rounded-sm px-1.5';

/** Legend, whose entries show and hide their line, and zoom buttons. */
export function ChartControls(props: ChartControlsProps) {
  const { label: chart, series, hidden, onToggle, isZoomed, onZoomIn, onZoomOut, onReset } = props;
  return (
    <div className="mt-1 flex flex-wrap items-center justify-between gap-x-4 gap-y-1 text-xs">
      {series.length > 1 ? (
        <ul aria-label={`Series of ${chart}`} className="-ml-1.5 flex flex-wrap">
          {series.map(({ label }, index) => (
            <li key={label}>
              <button
                type="button"
                aria-pressed={!hidden.has(index)}
                onClick={() => onToggle(index)}
                className={`${button} aria-[pressed=false]:line-through aria-[pressed=false]:opacity-70`}
              >
                <span aria-hidden className={`size-2 rounded-full ${swatchClass(index)}`} />
                {label}
              </button>
            </li>
          ))}
        </ul>
      ) : (
        <span />
      )}
      <div className="flex">
        {isZoomed && (
          <>
            <button type="button" className={button} onClick={onReset}>
              <RotateCcw aria-hidden className="size-3.5" /> Reset zoom
            </button>
            <button type="button" className={button} aria-label={`Zoom out: ${chart}`} onClick={onZoomOut}>
              <ZoomOut aria-hidden className="size-3.5" />
            </button>
          </>
        )}
        <button
          type="button"
          className={button}
          aria-label={`Zoom in: ${chart}`}
          title="Zoom in, or drag across the chart"
          onClick={onZoomIn}
        >
          <ZoomIn aria-hidden className="size-3.5" />
        </button>
      </div>
    </div>
  );
}
