import { useEffect, type ReactNode } from 'react';
import { HeadlineContext } from './money.tsx';
import { Reasons } from './reasons.tsx';
import { figureColumns } from './skeleton.tsx';
import { setPageTitle } from './logic/page-title.ts';

interface PageHeaderProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  /** Link to the parent page. */
  readonly back?: ReactNode;
}

/** Page heading (one h1), description and actions. */
export function PageHeader({ title, about, actions, back }: PageHeaderProps) {
  useEffect(() => {
    setPageTitle(title);
  }, [title]);
  return (
    <header className="mb-block">
      {back !== undefined && <div className="mb-1 text-xs">{back}</div>}
      <Reasons named className="mt-1 sm:text-right">
        <div className="flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0">
            <h1 className="break-words">{title}</h1>
            {about !== undefined && <div className="text-soft mt-1 max-w-prose text-pretty">{about}</div>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
      </Reasons>
    </header>
  );
}

interface CardProps {
  readonly title?: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** No padding, for tables. */
  readonly flush?: boolean;
  /** `strong` for the first action of a page, `quiet` for side information; else `plain`. */
  readonly weight?: CardWeight;
}

export type CardWeight = 'strong' | 'plain' | 'quiet';

const cardClasses: Readonly<Record<CardWeight, string>> = {
  strong: 'border-accent bg-surface rounded-lg border shadow-sm',
  plain: 'border-line bg-surface rounded-lg border',
  quiet: 'border-line rounded-none border-t',
};

export function Card({ title, about, actions, children, flush = false, weight = 'plain' }: CardProps) {
  const hasHeader = title !== undefined || actions !== undefined;
  const sides = weight === 'quiet' ? '' : 'px-card';
  return (
    <section className={`mb-block min-w-0 overflow-hidden ${cardClasses[weight]}`}>
      {hasHeader && (
        <Reasons named className={`-mt-2 pb-3 sm:text-right ${sides}`}>
          <div className={`flex flex-wrap items-center justify-between gap-2 pt-4 pb-3 ${sides}`}>
            <div className="min-w-0">
              {title !== undefined && <h2>{title}</h2>}
              {about !== undefined && <div className="text-soft mt-0.5 max-w-prose text-xs">{about}</div>}
            </div>
            {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
          </div>
        </Reasons>
      )}
      <div className={flush ? '' : `${sides} pb-card ${hasHeader ? '' : 'pt-card'}`}>{children}</div>
    </section>
  );
}

interface KeyFigure {
  readonly label: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
  /** The figure that the page is about. */
  readonly lead?: boolean;
}

/** Figures stand on the page without a box: they are read before the cards. */
export function KeyFigures({ items }: Readonly<{ items: readonly KeyFigure[] }>) {
  return (
    <dl className={figureColumns}>
      {items.map(({ label, value, note, lead = false }) => (
        <div
          key={label}
          className={`min-w-0 border-l-2 pl-4 ${lead ? 'border-accent col-span-2 sm:col-span-1' : 'border-line'}`}
        >
          <dt className="text-soft text-xs font-medium">{label}</dt>
          <dd
            className={`mt-0.5 font-semibold break-words [&_time]:whitespace-normal ${lead ? 'text-2xl' : 'text-xl'}`}
          >
            <HeadlineContext value>{value}</HeadlineContext>
          </dd>
          {note !== undefined && <dd className="text-soft mt-0.5 text-xs text-pretty">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

export function DescriptionList({
  items,
}: Readonly<{ items: readonly (readonly [name: string, value: ReactNode] | null)[] }>) {
  return (
    <dl className="grid grid-cols-1 gap-x-6 gap-y-2 sm:grid-cols-[minmax(8rem,max-content)_1fr]">
      {items
        .filter((item) => item !== null)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-soft">{name}</dt>
            <dd className="mb-1 min-w-0 break-words sm:mb-0">{value}</dd>
          </div>
        ))}
    </dl>
  );
}
