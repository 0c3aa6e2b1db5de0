import { useNavigate, useSearch } from '@tanstack/react-router';
import { Send } from 'lucide-react';
import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Badge, StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, Id } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { FilterField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Card } from '../../ui/page.tsx';
import { Note, Problem, QueryView } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { RelativeTime, useNow, Timestamp } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';
import {
  attemptText,
  deliveryStatuses,
  hasPendingDeliveries,
  isRetrying,
  statusLabels,
  type Delivery,
  type Webhook,
} from './webhook-text.ts';

const choices = deliveryStatuses.map((value) => ({ value, label: statusLabels[value] }));

const columnsOf = (webhook: Webhook, show: (delivery: Delivery) => void): readonly Column<Delivery>[] => [
  {
    head: 'Event',
    main: true,
    cell: (delivery) => (
      <>
        {delivery.eventType} <span className="text-soft font-normal"># {delivery.seq}</span>
      </>
    ),
  },
  { head: 'Status', cell: (delivery) => <DeliveryState delivery={delivery} /> },
  {
    head: 'Last attempt',
    cell: ({ attempts }) => {
      const last = attempts.at(-1);
      return last === undefined ? <span className="text-soft">none yet</span> : attemptText(last);
    },
  },
  { head: 'Attempts', right: true, cell: ({ attempts }) => attempts.length },
  { head: 'Created', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  {
    head: 'Actions',
    cell: (delivery) => (
      <span className="inline-flex flex-wrap gap-1">
        <Button
          size="small"
          aria-label={`View delivery of event ${String(delivery.seq)}`}
          onClick={() => show(delivery)}
        >
          View
        </Button>
        <ReplayButton webhook={webhook} delivery={delivery} />
      </span>
    ),
  },
];

export function Deliveries({ webhook }: Readonly<{ webhook: Webhook }>) {
  const { status } = useSearch({ from: '/shell/inside/webhooks/$webhookId' });
  const navigate = useNavigate();
  const [shown, setShown] = useState<Delivery | null>(null);
  const [moving, setMoving] = useState(true);
  const { id: webhookId } = webhook;
  const deliveries = usePages(
    ['webhooks', webhookId, 'deliveries', status],
    (client, signal) =>
      client.webhooks.listDeliveries({ webhookId, ...(status === undefined ? {} : { status }) }, { signal }),
    { refetchMs: moving ? 2_000 : 15_000 },
  );
  const anyMoving = hasPendingDeliveries(deliveries.data?.items ?? []);
  if (anyMoving !== moving) setMoving(anyMoving);
  return (
    <Card
      title="Deliveries"
      about="Kept for 30 days. Failed deliveries are retried after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 14 h."
      actions={
        <FilterField
          label="Status"
          hideLabel
          value={status}
          all="All"
          choices={choices}
          onValue={(next) =>
            void navigate({
              to: '/webhooks/$webhookId',
              params: { webhookId },
              search: next === undefined ? {} : { status: next },
              replace: true,
            })
          }
        />
      }
      flush
    >
      <PagedTable
        pages={deliveries}
        what="deliveries"
        caption="Deliveries, newest first"
        columns={columnsOf(webhook, setShown)}
        icon={Send}
        empty={status === undefined ? 'No deliveries yet' : 'No deliveries match'}
        hint="Send a test event below to check your endpoint."
      />
      {shown !== null && <DeliveryDialog delivery={shown} onClose={() => setShown(null)} />}
    </Card>
  );
}

/** Status of a delivery and, while it is not finished, the time of the next attempt. */
function DeliveryState({ delivery }: Readonly<{ delivery: Delivery }>) {
  const now = useNow(5_000);
  const { status, nextAttemptAt: at } = delivery;
  if (status !== 'pending') return <StateBadge state={status} />;
  const what = isRetrying(delivery) ? 'Next attempt' : 'First attempt';
  return (
    <>
      {isRetrying(delivery) ? <Badge tone="warn">retrying</Badge> : <StateBadge state={status} />}
      <span className="text-soft block text-xs">
        {/* Due deliveries about one resource are sent in order, so a due one may wait. */}
        {at === null || Date.parse(at) <= now ? (
          `${what} as soon as possible`
        ) : (
          <>
            {what} <RelativeTime at={at} />
          </>
        )}
      </span>
    </>
  );
}

function ReplayButton({ webhook, delivery }: Readonly<{ webhook: Webhook; delivery: Delivery }>) {
  const { mayNot } = useSession();
  const toast = useToast();
  const replay = useApiMutation(
    (client, deliveryId: string) => client.webhooks.replayDelivery({ webhookId: webhook.id, deliveryId }),
    { changes: ['webhooks'], onSuccess: ({ eventType }) => toast('Resending', eventType) },
  );
  const off =
    mayNot('webhooks:write') ||
    (webhook.status === 'disabled' && 'The webhook is disabled. Enable it first.');
  return (
    <>
      <Button
        size="small"
        off={off}
        busy={replay.isPending && 'Sending…'}
        aria-label={`Resend event ${String(delivery.seq)}`}
        onClick={() => replay.mutate(delivery.id)}
      >
        Resend
      </Button>
      {replay.error !== null && <Problem error={replay.error} doing="resend the event" />}
    </>
  );
}

function DeliveryDialog({ delivery, onClose }: Readonly<{ delivery: Delivery; onClose: () => void }>) {
  const { may } = useSession();
  const { seq, attempts } = delivery;
  const mayRead = may('events:read');
  // The delivery body is the event, so it is read from the events.
  const event = useApiQuery(
    ['webhooks', 'event', seq],
    async (client, signal) => {
      const page = await client.events.list({ after: seq - 1, limit: 1 }, { signal });
      return page.items.find((each) => each.id === delivery.eventId) ?? null;
    },
    { enabled: mayRead },
  );
  return (
    <Dialog open onClose={onClose} title={delivery.eventType} about={<DeliveryState delivery={delivery} />}>
      <div className="flex flex-col gap-4">
        <div>
          <h3>Attempts</h3>
          {attempts.length === 0 ? (
            <p className="text-soft">No attempts yet.</p>
          ) : (
            <ol className="list-decimal pl-5">
              {attempts.map((attempt) => (
                <li key={attempt.at}>
                  <Timestamp at={attempt.at} />: {attemptText(attempt)}
                </li>
              ))}
            </ol>
          )}
        </div>
        <div>
          <h3 className="mb-1">Payload</h3>
          {mayRead ? (
            <QueryView query={event} what="event">
              {(data) =>
                data === null ? (
                  <Note>This event has expired.</Note>
                ) : (
                  <CodeBlock code={JSON.stringify(data, null, 2)} what="delivery payload" />
                )
              }
            </QueryView>
          ) : (
            <Note>Your role cannot read events (events:read).</Note>
          )}
        </div>
        <Id value={delivery.id} what="delivery ID" />
      </div>
    </Dialog>
  );
}
