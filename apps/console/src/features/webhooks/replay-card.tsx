import { useState } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { Problem } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { parseSequence, type Webhook } from './webhook-text.ts';
import { Form } from '../../ui/form.tsx';

/** Resends the latest event as a test, or all events after a number. */
export function ReplayCard({ webhook }: Readonly<{ webhook: Webhook }>) {
  const { mayNot } = useSession();
  const off =
    mayNot('webhooks:write') ||
    (webhook.status === 'disabled' && 'The webhook is disabled. Enable it first.');
  return (
    <Card title="Resend" about="Your endpoint may get an event twice, with the same ID.">
      <div className="flex flex-col gap-5">
        <SendNewest webhook={webhook} off={off} />
        <SendSince webhook={webhook} off={off} />
      </div>
    </Card>
  );
}

interface Props {
  readonly webhook: Webhook;
  readonly off: string | false;
}

const countText = (count: number): string => (count === 1 ? '1 event' : `${String(count)} events`);

function SendNewest({ webhook, off }: Props) {
  const { mayNot } = useSession();
  const toast = useToast();
  const send = useApiMutation(
    async (client, webhookId: string) => {
      const { response } = await client.events.list({ after: 'latest' });
      const { lastSeq } = response;
      return lastSeq === 0 ? null : client.webhooks.replay({ webhookId, after: lastSeq - 1 });
    },
    {
      changes: ['webhooks'],
      onSuccess: (response) => {
        if (response === null) toast('No events yet', 'Create an API key, for example, then try again.');
        else if (response.eventCount > 0) toast('Sending', 'The delivery appears in the list above.');
        else toast('Not sent', 'The webhook is not subscribed to the type of the latest event.');
      },
    },
  );
  return (
    <div className="flex flex-col items-start gap-2">
      <Button
        off={off || mayNot('events:read')}
        busy={send.isPending && 'Sending…'}
        onClick={() => send.mutate(webhook.id)}
      >
        Send test event
      </Button>
      {send.error !== null && <Problem error={send.error} doing="send the test event" />}
    </div>
  );
}

function SendSince({ webhook, off }: Props) {
  const toast = useToast();
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState<string | undefined>();
  const send = useApiMutation(
    (client, after: number) => client.webhooks.replay({ webhookId: webhook.id, after }),
    {
      changes: ['webhooks'],
      onSuccess: ({ eventCount, nextAfter }) => {
        // Long ranges are sent in parts; the field contains the start of the next part.
        setTyped(nextAfter === null ? '' : String(nextAfter));
        const rest = nextAfter === null ? '' : ` More events follow. Continue after ${String(nextAfter)}.`;
        toast('Resending', `${countText(eventCount)}.${rest}`);
      },
    },
  );
  const submit = (): void => {
    const after = parseSequence(typed);
    setWrong(
      after === undefined
        ? 'Enter a whole number, such as 88213. Enter 0 to resend all stored events.'
        : undefined,
    );
    if (after !== undefined) send.mutate(after);
  };
  return (
    <Form onSend={submit} className="flex max-w-md flex-col items-start gap-2">
      <TextField
        label="Resend all events after number"
        hint="The last event that your endpoint received. Events are sent in order, including those delivered before."
        inputMode="numeric"
        value={typed}
        error={wrong}
        onValue={setTyped}
      />
      {send.error !== null && <Problem error={send.error} doing="resend events" />}
      <Button type="submit" off={off} busy={send.isPending && 'Sending…'}>
        Resend
      </Button>
    </Form>
  );
}
