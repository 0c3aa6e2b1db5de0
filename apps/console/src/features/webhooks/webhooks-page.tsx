import type { Output } from '@millrace/sdk';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CommandHint } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { typesText } from './event-groups.ts';
import { SigningSecret } from './signing-secret.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { webhookHealth, standardSnippet, verifySnippet, type Webhook } from './webhook-text.ts';
import { TextLink } from '../../ui/link.tsx';
import { useCreateHash } from '../../app/use-create-hash.ts';

const columns: readonly Column<Webhook>[] = [
  {
    head: 'Endpoint URL',
    main: true,
    cell: ({ id, url, description }) => (
      <>
        <TextLink to="/webhooks/$webhookId" params={{ webhookId: id }} className="wrap-anywhere">
          {url}
        </TextLink>
        {description !== '' && <span className="text-soft block font-normal">{description}</span>}
      </>
    ),
  },
  {
    head: 'Status',
    cell: (webhook) => {
      const { tone, label, why } = webhookHealth(webhook);
      return (
        <>
          <Badge tone={tone}>{label}</Badge>
          {why !== null && <span className="text-soft block text-xs">{why}</span>}
        </>
      );
    },
  },
  {
    head: 'Events',
    cell: ({ eventTypes }) => <span title={eventTypes.join(', ')}>{typesText(eventTypes)}</span>,
  },
  {
    head: 'Last success',
    cell: ({ lastSucceededAt }) =>
      lastSucceededAt === null ? (
        <span className="text-soft">never</span>
      ) : (
        <RelativeTime at={lastSucceededAt} />
      ),
  },
];

export function WebhooksPage() {
  const { mayNot } = useSession();
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<Output<'createWebhook'> | null>(null);
  useCreateHash(() => setOpen(mayNot('webhooks:write') === false));
  const webhooks = usePages(['webhooks', 'list'], (client, signal) => client.webhooks.list({}, { signal }), {
    refetchMs: 15_000,
  });
  const create = (
    <Button
      kind="primary"
      icon={<Plus aria-hidden className="size-4" />}
      off={mayNot('webhooks:write')}
      onClick={() => setOpen(true)}
    >
      Create webhook
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Webhooks"
        about="Get HTTP requests when something happens, for example when a rental starts, your balance runs low or an invoice is issued."
        actions={create}
      />
      <Card flush>
        <PagedTable
          pages={webhooks}
          what="webhooks"
          caption="Webhooks"
          columns={columns}
          icon={WebhookIcon}
          empty="No webhooks yet"
          action={create}
          hint={
            <>
              To test on your own computer, run <code>millrace webhook listen 3000</code>.
            </>
          }
        />
      </Card>
      <Card
        title="Verify deliveries"
        about="Deliveries follow Standard Webhooks, so you can use any library for it."
      >
        <div className="flex flex-col gap-3">
          <CodeBlock code={verifySnippet} what="TypeScript code" label="TypeScript" />
          <CodeBlock code={standardSnippet} what="Python code" label="Python" />
        </div>
      </Card>
      <CommandHint command="millrace webhook create https://example.com/hooks/millrace" />
      {isOpen && (
        <WebhookForm
          onClose={() => setOpen(false)}
          onMade={(webhook) => {
            setOpen(false);
            setMade(webhook);
          }}
        />
      )}
      {made !== null && <SigningSecret secret={made.secret} onClose={() => setMade(null)} />}
    </>
  );
}
