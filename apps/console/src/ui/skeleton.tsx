import type { ReactNode } from 'react';
import { MANY_COLUMNS } from './table.tsx';

/** Grey bar in place of content that is loading. */
export function Bar({ className = '' }: Readonly<{ className?: string }>) {
  return <span aria-hidden className={`bg-raised block h-3.5 rounded-sm ${className}`} />;
}

interface PlaceholderProps {
  /** Noun, such as `rentals`. */
  readonly what: string;
  readonly children: ReactNode;
  /** A list, whose height is not known. */
  readonly isList?: true;
}

/**
 * Keeps the space of content that is loading. The bars appear only after a moment, so that fast answers do not flash, and
 * the text after two seconds; screen readers get it at once.
 */
export function Placeholder({ what, children, isList }: PlaceholderProps) {
  return (
    <div className="relative" data-placeholder={isList === true ? 'list' : ''}>
      <div aria-hidden className="animate-appear">
        <div className="motion-safe:animate-pulse">{children}</div>
      </div>
      <div
        role="status"
        className="border-line bg-surface text-soft animate-appear-late absolute top-3 left-1/2 -translate-x-1/2 rounded-md border px-3 py-1.5 text-xs whitespace-nowrap shadow-sm"
      >
        Loading {what}…
      </div>
    </div>
  );
}

const lineWidths = ['w-3/5', 'w-2/5', 'w-1/2'] as const;

export function LinesSkeleton({ what, lines = 3 }: Readonly<{ what: string; lines?: number }>) {
  return (
    <Placeholder what={what}>
      <div className="flex flex-col gap-3 p-card">
        {Array.from({ length: lines }, (_, index) => (
          <Bar key={index} className={lineWidths[index % lineWidths.length] ?? ''} />
        ))}
      </div>
    </Placeholder>
  );
}

const TABLE_ROWS = 5;

/** Become cards at the same widths as tables. */
const few = {
  row: 'md:flex-row',
  cell: 'md:px-4 md:py-[0.8125rem]',
  head: 'md:block',
  frame: 'md:px-0 md:py-0',
};
const many = {
  row: 'xl:flex-row',
  cell: 'xl:px-4 xl:py-[0.8125rem]',
  head: 'xl:block',
  frame: 'xl:px-0 xl:py-0',
};

/** As high as a table of five rows, and as its cards on a small screen. */
export function TableSkeleton({ what, columns }: Readonly<{ what: string; columns: number }>) {
  const cells = Array.from({ length: columns }, (_, index) => index);
  const layout = columns < MANY_COLUMNS ? few : many;
  const row = (
    <div className={`flex flex-col ${layout.row}`}>
      {cells.map((index) => (
        <div key={index} className={`flex-1 py-[0.4375rem] ${layout.cell}`}>
          <Bar className={index === 0 ? 'w-4/5' : 'w-3/5'} />
        </div>
      ))}
    </div>
  );
  return (
    <Placeholder what={what} isList>
      <div className={`border-line hidden h-[2.0625rem] border-b ${layout.head}`} />
      {Array.from({ length: TABLE_ROWS }, (_, index) => (
        <div key={index} className={`border-line border-b px-4 py-2 last:border-b-0 ${layout.frame}`}>
          {row}
        </div>
      ))}
      <div className="border-line h-11 border-t" />
    </Placeholder>
  );
}

/** As high as a chart with its axis and the link to its table. */
export function ChartSkeleton({ what, height }: Readonly<{ what: string; height: number }>) {
  return (
    <Placeholder what={what}>
      <div className="flex items-end gap-2" style={{ height }}>
        {[40, 65, 50, 80, 60, 90, 70, 55].map((percent) => (
          <span
            key={percent}
            className="bg-raised block flex-1 rounded-sm"
            style={{ height: `${String(percent)}%` }}
          />
        ))}
      </div>
      <div className="h-11" />
    </Placeholder>
  );
}

/** Columns of key figures, the same while they load. */
export const figureColumns =
  'mb-section grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-[repeat(auto-fill,minmax(11rem,1fr))]';

function FigureBars({ count }: Readonly<{ count: number }>) {
  return (
    <div className={figureColumns}>
      {Array.from({ length: count }, (_, index) => (
        <div key={index} className="border-line flex h-16 flex-col justify-between border-l-2 pl-4">
          <Bar className="h-3 w-16" />
          <Bar className="h-6 w-24" />
          <Bar className="h-3 w-20" />
        </div>
      ))}
    </div>
  );
}

/** As high as key figures with notes. */
export function FiguresSkeleton({ what, count }: Readonly<{ what: string; count: number }>) {
  return (
    <Placeholder what={what}>
      <FigureBars count={count} />
    </Placeholder>
  );
}

/** Key figures and one card, as most pages begin; with a title if the page is not yet known. */
export function PageSkeleton({ what, title = false }: Readonly<{ what: string; title?: boolean }>) {
  return (
    <Placeholder what={what}>
      {title && (
        <div className="mb-block flex flex-col gap-3 py-1">
          <Bar className="h-6 w-48" />
          <Bar className="w-80 max-w-full" />
        </div>
      )}
      <FigureBars count={4} />
      <div className="border-line bg-surface p-card flex flex-col gap-4 rounded-lg border">
        <Bar className="h-4 w-40" />
        {[1, 2, 3, 4].map((each) => (
          <Bar key={each} className={lineWidths[each % lineWidths.length] ?? ''} />
        ))}
      </div>
    </Placeholder>
  );
}
