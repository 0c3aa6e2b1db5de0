import { AlertTriangle, CircleCheck, Info, OctagonAlert, type LucideIcon } from 'lucide-react';
import type { AttentionItem } from './logic/attention-items.ts';
import { withLocalTimes } from './logic/local-times.ts';
import { TextLink } from './link.tsx';
import { Card } from './page.tsx';
import { LinesSkeleton } from './skeleton.tsx';

const marks: Readonly<Record<AttentionItem['tone'], readonly [LucideIcon, color: string, label: string]>> = {
  bad: [OctagonAlert, 'text-bad', 'Problem'],
  warn: [AlertTriangle, 'text-warn', 'Warning'],
  info: [Info, 'text-info', 'Notice'],
};

const ITEMS_SHOWN = 8;

interface AttentionCardProps {
  readonly items: readonly AttentionItem[];
  /** Text if there is nothing. */
  readonly what?: string;
  readonly isLoading?: boolean;
}

/** Items that need a decision, each with a link to its cause. Shape and colour show how serious it is. */
export function AttentionCard({ items, what, isLoading = false }: AttentionCardProps) {
  if (isLoading && items.length === 0) {
    return (
      <Card title="Needs attention" flush>
        <LinesSkeleton what="items that need attention" lines={2} />
      </Card>
    );
  }
  if (items.length === 0) {
    return (
      <Card title="Needs attention">
        <p className="text-soft flex items-center gap-2">
          <CircleCheck aria-hidden className="text-good size-4 shrink-0" />
          {what ?? 'Nothing needs your attention.'}
        </p>
      </Card>
    );
  }
  const hidden = items.length - ITEMS_SHOWN;
  return (
    <Card
      title="Needs attention"
      about={items.length === 1 ? '1 item' : `${String(items.length)} items`}
      flush
    >
      <ul aria-label="Needs attention" className="divide-line divide-y">
        {items.slice(0, ITEMS_SHOWN).map(({ key, tone, title, detail, to, search = {} }) => {
          const [Mark, color, label] = marks[tone];
          return (
            <li key={key} className="flex gap-3 px-4 py-2.5">
              <Mark aria-label={label} role="img" className={`mt-0.5 size-4 shrink-0 ${color}`} />
              <div className="min-w-0">
                <TextLink to={to} search={search} className="font-medium break-words underline-offset-2">
                  {title}
                </TextLink>
                <p className="text-soft text-xs break-words">{withLocalTimes(detail)}</p>
              </div>
            </li>
          );
        })}
      </ul>
      {hidden > 0 && <p className="text-soft border-line border-t px-4 py-2 text-xs">{hidden} more</p>}
    </Card>
  );
}
