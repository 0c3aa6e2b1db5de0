import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { rotationOverlaps } from '../../ui/logic/rotation-overlaps.ts';
import { Problem } from '../../ui/states.tsx';
import type { Webhook } from './webhook-text.ts';
import { Form, FormButtons } from '../../ui/form.tsx';

interface Props {
  readonly webhook: Webhook;
  readonly onClose: () => void;
}

export function RotateSecret(props: Props & { readonly onMade: (secret: string | null) => void }) {
  const { webhook, onClose, onMade } = props;
  const [overlap, setOverlap] = useState('86400');
  const rotate = useApiMutation(
    (client, overlapSeconds: number) =>
      client.webhooks.rotateSecret({ webhookId: webhook.id, overlapSeconds }),
    { changes: ['webhooks'], onSuccess: ({ secret }) => onMade(secret) },
  );
  const submit = (): void => {
    rotate.mutate(Number(overlap));
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Rotate signing secret"
      about="Until the old secret expires, deliveries are signed with both, so that you can switch without losing a delivery."
    >
      <Form onSend={submit} className="flex flex-col gap-3">
        <SelectField
          label="Old secret expires"
          value={overlap}
          choices={rotationOverlaps}
          onValue={setOverlap}
        />
        {rotate.error !== null && <Problem error={rotate.error} doing="rotate the secret" />}
        <FormButtons onClose={onClose} busy={rotate.isPending && 'Rotating…'}>
          Rotate
        </FormButtons>
      </Form>
    </Dialog>
  );
}

export function DisableWebhook({ webhook, onClose }: Props) {
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title="Disable this webhook?"
      action="Disable"
      doing="Disabling…"
      run={(client) => client.webhooks.update({ webhookId: webhook.id, status: 'disabled' })}
      changes={['webhooks']}
      onDone={(toast) => toast('Webhook disabled', webhook.url)}
    >
      <p>
        No events are sent to <span className="wrap-anywhere">{webhook.url}</span>, and pending deliveries are
        cancelled. Events are kept, so you can resend them after enabling the webhook.
      </p>
    </ConfirmDialog>
  );
}

export function DeleteWebhook({ webhook, onClose }: Props) {
  const navigate = useNavigate();
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title="Delete this webhook?"
      action="Delete"
      doing="Deleting…"
      run={(client) => client.webhooks.delete({ webhookId: webhook.id })}
      changes={[]}
      onDone={(toast) => {
        toast('Deleted', webhook.url);
        void navigate({ to: '/webhooks' });
      }}
    >
      <p>
        No events are sent to <span className="wrap-anywhere">{webhook.url}</span>. Its secret and delivery
        history are deleted. Events are kept.
      </p>
    </ConfirmDialog>
  );
}
