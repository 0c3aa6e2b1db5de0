import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint, Id } from '../../ui/copy.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { Problem, QueryView } from '../../ui/states.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Deliveries } from './deliveries.tsx';
import { ReplayCard } from './replay-card.tsx';
import { SigningSecret } from './signing-secret.tsx';
import { DeleteWebhook, DisableWebhook, RotateSecret } from './webhook-actions.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { webhookHealth, type Webhook } from './webhook-text.ts';
import { TextLink } from '../../ui/link.tsx';

type Open = 'edit' | 'rotate' | 'disable' | 'delete' | null;

export function WebhookPage() {
  const { webhookId } = useParams({ from: '/shell/inside/webhooks/$webhookId' });
  const webhook = useApiQuery(
    ['webhooks', webhookId],
    (client, signal) => client.webhooks.get({ webhookId }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <QueryView query={webhook} what="webhook">
      {(data) => <WebhookDetail webhook={data} />}
    </QueryView>
  );
}

function WebhookDetail({ webhook }: Readonly<{ webhook: Webhook }>) {
  const { mayNot } = useSession();
  const [open, setOpen] = useState<Open>(null);
  // Undefined: no secret to show. Null: the response with the secret was lost.
  const [secret, setSecret] = useState<string | null | undefined>();
  const close = (): void => setOpen(null);
  const off = mayNot('webhooks:write');
  return (
    <>
      <PageHeader
        title={webhook.url}
        about={webhook.description === '' ? undefined : webhook.description}
        back={<TextLink to="/webhooks">Webhooks</TextLink>}
        actions={
          <>
            <Button off={off} onClick={() => setOpen('edit')}>
              Edit
            </Button>
            <Button off={off} onClick={() => setOpen('rotate')}>
              Rotate secret
            </Button>
            {webhook.status === 'disabled' ? (
              <EnableButton webhook={webhook} />
            ) : (
              <Button off={off} onClick={() => setOpen('disable')}>
                Disable
              </Button>
            )}
            <Button kind="danger" off={off} onClick={() => setOpen('delete')}>
              Delete
            </Button>
          </>
        }
      />
      <WebhookFacts webhook={webhook} />
      <Deliveries webhook={webhook} />
      <ReplayCard webhook={webhook} />
      <CommandHint command={`millrace webhook deliveries ${webhook.id}`} />
      {open === 'edit' && <WebhookForm webhook={webhook} onClose={close} onMade={close} />}
      {open === 'rotate' && (
        <RotateSecret
          webhook={webhook}
          onClose={close}
          onMade={(made) => {
            close();
            setSecret(made);
          }}
        />
      )}
      {open === 'disable' && <DisableWebhook webhook={webhook} onClose={close} />}
      {open === 'delete' && <DeleteWebhook webhook={webhook} onClose={close} />}
      {secret !== undefined && <SigningSecret secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}

function WebhookFacts({ webhook }: Readonly<{ webhook: Webhook }>) {
  const { tone, label, why } = webhookHealth(webhook);
  const { failingSince, lastSucceededAt, eventTypes } = webhook;
  return (
    <Card title="Status">
      <DescriptionList
        items={[
          [
            'Status',
            <span key="state">
              <Badge tone={tone}>{label}</Badge> {why}
            </span>,
          ],
          failingSince === null ? null : ['Failing since', <Timestamp key="failing" at={failingSince} />],
          [
            'Last success',
            lastSucceededAt === null ? 'never' : <Timestamp key="last" at={lastSucceededAt} />,
          ],
          ['Events', eventTypes.includes('*') ? 'all events' : eventTypes.join(', ')],
          ['Created', <Timestamp key="made" at={webhook.createdAt} />],
          ['ID', <Id key="id" value={webhook.id} what="webhook ID" />],
        ]}
      />
    </Card>
  );
}

function EnableButton({ webhook }: Readonly<{ webhook: Webhook }>) {
  const { mayNot } = useSession();
  const toast = useToast();
  const enable = useApiMutation(
    (client, webhookId: string) => client.webhooks.update({ webhookId, status: 'enabled' }),
    {
      changes: ['webhooks'],
      onSuccess: () =>
        toast('Webhook enabled', 'New events are sent from now on. Use Resend for earlier ones.'),
    },
  );
  return (
    <>
      <Button
        kind="primary"
        off={mayNot('webhooks:write')}
        busy={enable.isPending && 'Enabling…'}
        onClick={() => enable.mutate(webhook.id)}
      >
        Enable
      </Button>
      {enable.error !== null && <Problem error={enable.error} doing="enable the webhook" />}
    </>
  );
}
