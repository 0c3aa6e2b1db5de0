import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { CommandHint } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { labelIssue, sizeIssue, SIZE_STEP_GB, type VolumeDetail } from './volume.ts';
import { VolumePrice } from './volume-price.tsx';
import { Form, FormButtons } from '../../ui/form.tsx';

interface Changes {
  readonly label?: string;
  readonly sizeInGb?: number;
}

export function UpdateVolume({ volume, onClose }: Readonly<{ volume: VolumeDetail; onClose: () => void }>) {
  const [label, setLabel] = useState(volume.label);
  const [size, setSize] = useState(String(volume.sizeInGb));
  const toast = useToast();
  const update = useApiMutation(
    (client, changes: Changes) => client.volumes.update({ storageVolumeId: volume.id, ...changes }),
    {
      changes: ['volumes', 'money'],
      onSuccess: ({ growingToGb }) => {
        toast('Saved', growingToGb === null ? undefined : `Growing to ${String(growingToGb)} GB.`);
        onClose();
      },
    },
  );
  const wrongLabel = label === volume.label ? null : labelIssue(label);
  const wrongSize = sizeIssue(size, volume.sizeInGb);
  const grows = wrongSize === null && Number(size) > volume.sizeInGb;
  const changes: Changes = {
    ...(label === volume.label ? {} : { label }),
    ...(grows ? { sizeInGb: Number(size) } : {}),
  };
  const nothing = Object.keys(changes).length === 0 && 'Nothing has changed yet.';
  const flags = [
    ...(grows ? [`--size-gb ${size}`] : []),
    ...(label === volume.label ? [] : [`--label ${label}`]),
  ];
  return (
    <Dialog title={`Edit ${volume.label}`} open onClose={onClose}>
      <Form className="flex flex-col gap-4" onSend={() => update.mutate(changes)}>
        <TextField
          label="Label"
          value={label}
          onValue={setLabel}
          error={wrongLabel ?? fieldIssue(update.error, 'label')}
        />
        <TextField
          label="Size in GB"
          hint="You can grow a volume in use, but not shrink it. The new size is billed once it is available."
          type="number"
          min={volume.sizeInGb}
          step={SIZE_STEP_GB}
          value={size}
          onValue={setSize}
          error={wrongSize ?? fieldIssue(update.error, 'sizeInGb')}
        />
        {grows && <VolumePrice region={volume.region} sizeInGb={Number(size)} />}
        {update.error !== null && <Problem error={update.error} doing="update the volume" />}
        {flags.length > 0 && (
          <CommandHint command={`millrace volume update ${volume.label} ${flags.join(' ')}`} />
        )}
        <FormButtons
          onClose={onClose}
          cancel="Cancel"
          busy={update.isPending && 'Saving…'}
          off={wrongLabel ?? wrongSize ?? nothing}
        >
          {grows ? `Grow to ${size} GB` : 'Save'}
        </FormButtons>
      </Form>
    </Dialog>
  );
}
