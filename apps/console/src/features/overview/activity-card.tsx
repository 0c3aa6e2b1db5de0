import { Activity } from 'lucide-react';
import { TextLink } from '../../ui/link.tsx';
import { Card } from '../../ui/page.tsx';
import { LinesSkeleton } from '../../ui/skeleton.tsx';
import { EmptyState, QueryView } from '../../ui/states.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { activityOf, type Event } from './activity.ts';

const EVENTS_SHOWN = 10;

interface ActivityCardProps {
  readonly events: Parameters<typeof QueryView<readonly Event[]>>[0]['query'];
  readonly mayReadLog: boolean;
}

export function ActivityCard({ events, mayReadLog }: ActivityCardProps) {
  return (
    <Card title="Recent activity" actions={mayReadLog && <TextLink to="/audit">Audit log</TextLink>} flush>
      <QueryView
        query={events}
        what="recent activity"
        skeleton={<LinesSkeleton what="recent activity" lines={EVENTS_SHOWN} />}
      >
        {(items) =>
          items.length === 0 ? (
            <EmptyState icon={Activity} title="No activity yet">
              Changes of machines, volumes and money appear here.
            </EmptyState>
          ) : (
            <ol aria-label="Recent activity" className="divide-line divide-y">
              {items.slice(0, EVENTS_SHOWN).map((event) => (
                <ActivityLine key={event.id} event={event} />
              ))}
            </ol>
          )
        }
      </QueryView>
    </Card>
  );
}

function ActivityLine({ event }: Readonly<{ event: Event }>) {
  const { text, to } = activityOf(event);
  return (
    <li className="flex items-baseline justify-between gap-3 px-4 py-2">
      <span className="min-w-0 break-words">
        {to === null ? (
          text
        ) : (
          <TextLink to={to} className="decoration-line underline-offset-2 hover:decoration-current">
            {text}
          </TextLink>
        )}
      </span>
      <span className="text-soft shrink-0 text-xs">
        <RelativeTime at={event.occurredAt} />
      </span>
    </li>
  );
}
