import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { labelIssue, sizeIssue, SIZE_STEP_GB, type VolumeDetail } from './volume.ts';
import { VolumePrice } from './volume-price.tsx';

interface Changes {
  readonly label?: string;
  readonly sizeInGb?: number;
}

/** Larger, or another label. */
export function UpdateVolume({
  volume,
  onClose,
}: {
  readonly volume: VolumeDetail;
  readonly onClose: () => void;
}) {
  const [label, setLabel] = useState(volume.label);
  const [size, setSize] = useState(String(volume.sizeInGb));
  const toast = useToast();
  const update = useApiMutation(
    (client, changes: Changes) => client.volumes.update({ storageVolumeId: volume.id, ...changes }),
    {
      changes: ['volumes', 'money'],
      onSuccess: ({ growingToGb }) => {
        toast('Saved', growingToGb === null ? undefined : `It grows to ${String(growingToGb)} GB.`);
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
  const nothing = Object.keys(changes).length === 0 && 'Nothing is changed yet.';
  const flags = [
    ...(grows ? [`--size-gb ${size}`] : []),
    ...(label === volume.label ? [] : [`--label ${label}`]),
  ];
  return (
    <Dialog title={`Change ${volume.label}`} open onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          update.mutate(changes);
        }}
      >
        <TextField
          label="Label"
          value={label}
          onChange={({ target }) => setLabel(target.value)}
          error={wrongLabel ?? fieldIssue(update.error, 'label')}
        />
        <TextField
          label="Size in GB"
          hint="It grows while it is in use, and never shrinks. It costs by its new size from when it has it."
          type="number"
          min={volume.sizeInGb}
          step={SIZE_STEP_GB}
          value={size}
          onChange={({ target }) => setSize(target.value)}
          error={wrongSize ?? fieldIssue(update.error, 'sizeInGb')}
        />
        {grows && <VolumePrice region={volume.region} sizeInGb={Number(size)} />}
        {update.error !== null && <Problem error={update.error} doing="change it" />}
        {flags.length > 0 && (
          <CommandHint command={`millrace volume update ${volume.label} ${flags.join(' ')}`} />
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Leave it</Button>
          <Button
            type="submit"
            kind="primary"
            busy={update.isPending && 'Saving…'}
            off={wrongLabel ?? wrongSize ?? nothing}
          >
            {grows ? `Grow to ${size} GB` : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
