import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { rotationOverlaps } from '../../ui/rotation-overlaps.ts';
import { Problem } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import type { Webhook } from './webhook-text.ts';

interface Props {
  readonly webhook: Webhook;
  readonly onClose: () => void;
}

export function RotateSecret({
  webhook,
  onClose,
  onMade,
}: Props & { readonly onMade: (secret: string | null) => void }) {
  const [overlap, setOverlap] = useState('86400');
  const rotate = useApiMutation(
    (client, overlapSeconds: number) =>
      client.webhooks.rotateSecret({ webhookId: webhook.id, overlapSeconds }),
    { changes: ['webhooks'], onSuccess: ({ secret }) => onMade(secret) },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    rotate.mutate(Number(overlap));
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="A new signing secret"
      about="Until the old one ends each delivery is signed by both, so that you can change over without losing one."
    >
      <form onSubmit={submit} className="flex flex-col gap-3">
        <SelectField
          label="When the old secret ends"
          value={overlap}
          choices={rotationOverlaps}
          onChange={(event) => setOverlap(event.target.value)}
        />
        {rotate.error !== null && <Problem error={rotate.error} doing="rotate the secret" />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={rotate.isPending && 'Rotating…'}>
            Rotate
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function DisableWebhook({ webhook, onClose }: Props) {
  const toast = useToast();
  const disable = useApiMutation(
    (client, webhookId: string) => client.webhooks.update({ webhookId, status: 'disabled' }),
    { changes: ['webhooks'], onSuccess: () => toast('Switched off', webhook.url) },
  );
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title="Switch this webhook off?"
      action="Switch off"
      doing="Switching off…"
      onConfirm={() => disable.mutateAsync(webhook.id)}
    >
      <p>
        Nothing is sent to <span className="break-all">{webhook.url}</span> any more, and what waits is given
        up. The feed keeps events, so you can have them sent again once it is on.
      </p>
    </ConfirmDialog>
  );
}

export function DeleteWebhook({ webhook, onClose }: Props) {
  const toast = useToast();
  const navigate = useNavigate();
  const remove = useApiMutation((client, webhookId: string) => client.webhooks.delete({ webhookId }), {
    changes: [],
    onSuccess: () => {
      toast('Deleted', webhook.url);
      void navigate({ to: '/webhooks' });
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title="Delete this webhook?"
      action="Delete"
      doing="Deleting…"
      onConfirm={() => remove.mutateAsync(webhook.id)}
    >
      <p>
        Nothing is sent to <span className="break-all">{webhook.url}</span> any more. Its secret and the
        record of its deliveries are gone; the events themselves stay in the feed.
      </p>
    </ConfirmDialog>
  );
}
