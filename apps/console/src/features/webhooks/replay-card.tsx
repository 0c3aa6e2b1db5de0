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

/** Sends the newest event once more, to see whether it arrives, or all since a number. */
export function ReplayCard({ webhook }: Readonly<{ webhook: Webhook }>) {
  const { mayNot } = useSession();
  const off =
    mayNot('webhooks:write') || (webhook.status === 'disabled' && 'The webhook is off. Switch it on first.');
  return (
    <Card title="Send again" about="Your program may get an event that it knows: it has the same id.">
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
        if (response === null)
          toast('There is no event yet', 'Create an API key, for example, and try again.');
        else if (response.eventCount > 0) toast('Being sent', 'Its delivery is in the list above.');
        else toast('Not sent', 'The newest event is of a type that this webhook does not get.');
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
        Test it: send the newest event
      </Button>
      {send.error !== null && <Problem error={send.error} doing="send the newest event" />}
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
        // A long range goes in parts: the field holds where the next one begins.
        setTyped(nextAfter === null ? '' : String(nextAfter));
        const rest = nextAfter === null ? '' : ` There is more: go on after ${String(nextAfter)}.`;
        toast('Being sent again', `${countText(eventCount)}.${rest}`);
      },
    },
  );
  const submit = (): void => {
    const after = parseSequence(typed);
    setWrong(after === undefined ? 'A whole number, such as 88213; 0 sends all that is kept.' : undefined);
    if (after !== undefined) send.mutate(after);
  };
  return (
    <Form onSend={submit} className="flex max-w-md flex-col items-start gap-2">
      <TextField
        label="Send everything after event no."
        hint="The last one that your program has. Events are sent in order, whether they were sent before or not."
        inputMode="numeric"
        value={typed}
        error={wrong}
        onValue={setTyped}
      />
      {send.error !== null && <Problem error={send.error} doing="send events again" />}
      <Button type="submit" off={off} busy={send.isPending && 'Sending…'}>
        Send again
      </Button>
    </Form>
  );
}
