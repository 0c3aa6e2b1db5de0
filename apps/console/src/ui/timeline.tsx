import { Check, Circle, CircleDot, X, type LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

export interface TimelineItem {
  readonly key: string;
  readonly title: ReactNode;
  /** `now` is the current entry; `next` has not happened yet. */
  readonly status: 'done' | 'now' | 'next' | 'failed';
  readonly time?: ReactNode;
  readonly about?: ReactNode;
}

const looks: Readonly<Record<TimelineItem['status'], { icon: LucideIcon; color: string; word: string }>> = {
  done: { icon: Check, color: 'text-good', word: 'done' },
  now: { icon: CircleDot, color: 'text-info', word: 'current' },
  next: { icon: Circle, color: 'text-soft', word: 'not yet' },
  failed: { icon: X, color: 'text-bad', word: 'failed' },
};

/** Events or steps in order, connected by a line; the status is also readable without colour. */
export function Timeline({ items, label }: Readonly<{ items: readonly TimelineItem[]; label: string }>) {
  return (
    <ol aria-label={label}>
      {items.map(({ key, title, status, time, about }, index) => {
        const { icon: Icon, color, word } = looks[status];
        return (
          <li
            key={key}
            {...(status === 'now' && { 'aria-current': 'step' as const })}
            className="grid grid-cols-[1.25rem_1fr] gap-x-3"
          >
            <span className="flex flex-col items-center">
              <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${color}`} />
              {index < items.length - 1 && <span aria-hidden className="bg-line my-1 w-px flex-1" />}
            </span>
            <div className="min-w-0 pb-4">
              <div className="flex flex-wrap items-baseline justify-between gap-x-3">
                <span className={status === 'next' ? 'text-soft' : 'font-medium'}>
                  {title}
                  <span className="sr-only"> ({word})</span>
                </span>
                {time !== undefined && <span className="text-soft text-xs">{time}</span>}
              </div>
              {about !== undefined && <div className="text-soft">{about}</div>}
            </div>
          </li>
        );
      })}
    </ol>
  );
}
