import { useEffect, type ReactNode } from 'react';
import { setPageTitle } from './page-title.ts';

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
    <header className="mb-5">
      {back !== undefined && <div className="mb-1 text-xs">{back}</div>}
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <h1 className="break-words">{title}</h1>
          {about !== undefined && <div className="text-soft mt-1 max-w-prose">{about}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
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
}

export function Card({ title, about, actions, children, flush }: CardProps) {
  return (
    <section className="border-line bg-surface mb-4 min-w-0 overflow-hidden rounded-lg border">
      {(title !== undefined || actions !== undefined) && (
        <div className="border-line flex flex-wrap items-center justify-between gap-2 border-b px-4 py-3">
          <div className="min-w-0">
            {title !== undefined && <h2>{title}</h2>}
            {about !== undefined && <div className="text-soft text-xs">{about}</div>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
        </div>
      )}
      <div className={flush === true ? '' : 'p-4'}>{children}</div>
    </section>
  );
}

export function KeyFigures({
  items,
}: Readonly<{
  items: readonly { readonly label: string; readonly value: ReactNode; readonly note?: ReactNode }[];
}>) {
  return (
    <dl className="border-line bg-line mb-4 flex flex-wrap gap-px overflow-hidden rounded-lg border">
      {items.map(({ label, value, note }) => (
        <div key={label} className="bg-surface flex-[1_1_9.5rem] px-4 py-3">
          <dt className="text-soft text-xs">{label}</dt>
          <dd className="mt-0.5 text-lg font-semibold break-words tabular-nums">{value}</dd>
          {note !== undefined && <dd className="text-soft text-xs">{note}</dd>}
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
