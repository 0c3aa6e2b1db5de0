import type { Output } from '@millrace/sdk';
import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { TypeFields, type Types } from './type-fields.tsx';
import { urlIssue, type Webhook } from './webhook-text.ts';
import { Form, FormButtons } from '../../ui/form.tsx';

type CreatedWebhook = Output<'createWebhook'>;

interface WebhookInput {
  readonly url: string;
  readonly description: string;
  readonly eventTypes: CreatedWebhook['eventTypes'];
}

export function WebhookForm({
  webhook,
  onClose,
  onMade,
}: {
  readonly webhook?: Webhook;
  readonly onClose: () => void;
  /** The new webhook with its secret; null after an edit. */
  readonly onMade: (made: CreatedWebhook | null) => void;
}) {
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [types, setTypes] = useState<Types>(new Set(webhook?.eventTypes ?? ['*']));
  const [problems, setProblems] = useState<{ url?: string | undefined; types?: string | undefined }>({});
  const save = useApiMutation(
    async (client, request: WebhookInput): Promise<CreatedWebhook | null> => {
      if (webhook === undefined) return client.webhooks.create(request);
      await client.webhooks.update({ webhookId: webhook.id, ...request });
      return null;
    },
    { changes: ['webhooks'], onSuccess: onMade },
  );
  const submit = (): void => {
    const found = {
      url: urlIssue(url),
      types: types.size === 0 ? 'Choose at least one event type.' : undefined,
    };
    setProblems(found);
    if (found.url !== undefined || found.types !== undefined) return;
    save.mutate({ url: url.trim(), description: description.trim(), eventTypes: [...types] });
  };
  const isNew = webhook === undefined;
  return (
    <Dialog
      open
      onClose={onClose}
      title={isNew ? 'Create webhook' : 'Edit webhook'}
      about="We send signed HTTP requests to your endpoint when something happens."
    >
      <Form onSend={submit} className="flex flex-col gap-4">
        <TextField
          label="Endpoint URL"
          hint="HTTPS on the public internet. Redirects are not followed."
          type="url"
          inputMode="url"
          placeholder="https://example.com/hooks/millrace"
          value={url}
          maxLength={2048}
          error={problems.url ?? fieldIssue(save.error, 'url')}
          onValue={setUrl}
        />
        <TextField
          label="Description"
          hint="Optional."
          value={description}
          maxLength={255}
          error={fieldIssue(save.error, 'description')}
          onValue={setDescription}
        />
        <TypeFields
          chosen={types}
          error={problems.types ?? fieldIssue(save.error, 'eventTypes')}
          onChoose={setTypes}
        />
        {save.error !== null && <Problem error={save.error} doing="save the webhook" />}
        <FormButtons onClose={onClose} busy={save.isPending && 'Saving…'}>
          {isNew ? 'Create webhook' : 'Save'}
        </FormButtons>
      </Form>
    </Dialog>
  );
}
