import type { Output } from '@millrace/sdk';
import { useState, type FormEvent } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { rotationOverlaps } from '../../ui/rotation-overlaps.ts';
import { Problem } from '../../ui/states.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';
import type { ApiKey } from './key-form.ts';

export function RotateKey({
  apiKey,
  onClose,
  onMade,
}: {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly onMade: (made: Output<'rotateApiKey'>) => void;
}) {
  const [overlap, setOverlap] = useState('3600');
  const rotate = useApiMutation(
    (client, overlapSeconds: number) => client.keys.rotate({ keyId: apiKey.id, overlapSeconds }),
    { changes: ['keys', 'money'], onSuccess: onMade },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    rotate.mutate(Number(overlap));
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Rotate ${apiKey.name}`}
      about="A new key with the same rights, limits and budget takes its place."
    >
      <form onSubmit={submit} className="flex flex-col gap-3">
        <SelectField
          label={`When ${apiKey.prefix}… stops working`}
          hint="Long enough to put the new one everywhere the old one is."
          value={overlap}
          choices={rotationOverlaps}
          onChange={(event) => setOverlap(event.target.value)}
        />
        {rotate.error !== null && <Problem error={rotate.error} doing={`rotate ${apiKey.name}`} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={rotate.isPending && 'Rotating…'}>
            Rotate
          </Button>
        </div>
        <CommandHint command={`millrace key rotate ${apiKey.id} --overlap ${overlap}s`} />
      </form>
    </Dialog>
  );
}

export function RevokeKey({ apiKey, onClose }: { readonly apiKey: ApiKey; readonly onClose: () => void }) {
  const toast = useToast();
  const revoke = useApiMutation((client, keyId: string) => client.keys.revoke({ keyId }), {
    changes: ['keys', 'money'],
    onSuccess: () => toast('Revoked', `${apiKey.name} is refused from now on.`),
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Revoke ${apiKey.name}?`}
      action="Revoke"
      doing="Revoking…"
      onConfirm={() => revoke.mutateAsync(apiKey.id)}
    >
      <p>
        Everything that uses <code className="break-all">{apiKey.prefix}…</code> is refused within a second,
        and this cannot be undone. It was{' '}
        {apiKey.lastUsedAt === null ? (
          'never used.'
        ) : (
          <>
            last used <RelativeTime at={apiKey.lastUsedAt} />.
          </>
        )}
      </p>
      <p>What it started is not ended: rentals, volumes and instances run on and go on costing.</p>
    </ConfirmDialog>
  );
}
