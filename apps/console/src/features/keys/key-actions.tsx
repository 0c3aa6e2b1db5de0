import type { Output } from '@millrace/sdk';
import { useState } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { CommandHint } from '../../ui/copy.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { rotationOverlaps } from '../../ui/logic/rotation-overlaps.ts';
import { Problem } from '../../ui/states.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import type { ApiKey } from './key-form.ts';
import { Form, FormButtons } from '../../ui/form.tsx';

export function RotateKey({
  apiKey,
  onClose,
  onMade,
}: Readonly<{ apiKey: ApiKey; onClose: () => void; onMade: (made: Output<'rotateApiKey'>) => void }>) {
  const [overlap, setOverlap] = useState('3600');
  const rotate = useApiMutation(
    (client, overlapSeconds: number) => client.keys.rotate({ keyId: apiKey.id, overlapSeconds }),
    { changes: ['keys', 'money'], onSuccess: onMade },
  );
  const submit = (): void => {
    rotate.mutate(Number(overlap));
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Rotate ${apiKey.name}`}
      about="Creates a new key with the same permissions, limits and budget."
    >
      <Form onSend={submit} className="flex flex-col gap-3">
        <SelectField
          label={`${apiKey.prefix}… stops working`}
          hint="Leave enough time to deploy the new key."
          value={overlap}
          choices={rotationOverlaps}
          onValue={setOverlap}
        />
        {rotate.error !== null && <Problem error={rotate.error} doing={`rotate ${apiKey.name}`} />}
        <FormButtons onClose={onClose} busy={rotate.isPending && 'Rotating…'}>
          Rotate
        </FormButtons>
        <CommandHint command={`millrace key rotate ${apiKey.id} --overlap ${overlap}s`} />
      </Form>
    </Dialog>
  );
}

export function RevokeKey({ apiKey, onClose }: Readonly<{ apiKey: ApiKey; onClose: () => void }>) {
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Revoke ${apiKey.name}?`}
      action="Revoke"
      doing="Revoking…"
      run={(client) => client.keys.revoke({ keyId: apiKey.id })}
      changes={['keys', 'money']}
      onDone={(toast) => toast('Revoked', `${apiKey.name} no longer works.`)}
    >
      <p>
        Requests that use <code className="break-all">{apiKey.prefix}…</code> fail within a second. You cannot
        undo this. The key was{' '}
        {apiKey.lastUsedAt === null ? (
          'never used.'
        ) : (
          <>
            last used <RelativeTime at={apiKey.lastUsedAt} />.
          </>
        )}
      </p>
      <p>Rentals, volumes and instances that it created keep running and keep billing.</p>
    </ConfirmDialog>
  );
}
