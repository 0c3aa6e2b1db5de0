import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { CommandHint } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { LiveCost, PerHour } from '../../ui/money.tsx';
import { Note, Problem } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import {
  labelIssue,
  sizeIssue,
  SIZE_STEP_GB,
  volumeActionDisabledReason,
  type Snapshot,
  type VolumeDetail,
} from './volume.ts';
import { VolumePrice } from './volume-price.tsx';
import { Form, FormButtons } from '../../ui/form.tsx';

type RestoreTarget = 'new-volume' | 'same-volume';

interface RestoreRequest {
  readonly into: RestoreTarget;
  readonly label?: string;
  readonly sizeInGb?: number;
}

export interface SnapshotProps {
  readonly volume: VolumeDetail;
  readonly snapshot: Snapshot;
  readonly onClose: () => void;
}

function useRestore({ volume, snapshot, onClose }: SnapshotProps) {
  const navigate = useNavigate();
  const toast = useToast();
  return useApiMutation(
    (client, order: RestoreRequest) =>
      client.volumes.restoreSnapshot({ storageVolumeId: volume.id, snapshotId: snapshot.id, ...order }),
    {
      changes: ['volumes', 'money'],
      onSuccess: ({ id, label }) => {
        toast(`Restoring ${label}`, 'This takes seconds.');
        onClose();
        if (id !== volume.id) void navigate({ to: '/volumes/$volumeId', params: { volumeId: String(id) } });
      },
    },
  );
}

/** Restores into a new volume at the shown price, or replaces the volume's data. */
export function RestoreSnapshot({ volume, snapshot, onClose }: SnapshotProps) {
  const [into, setInto] = useState<RestoreTarget>('new-volume');
  const [label, setLabel] = useState('');
  const [size, setSize] = useState(String(snapshot.volumeSizeInGb));
  const [typed, setTyped] = useState('');
  const restore = useRestore({ volume, snapshot, onClose });
  const isNew = into === 'new-volume';
  const wrongLabel = label === '' ? 'Enter a label.' : labelIssue(label);
  const wrongSize = sizeIssue(size, snapshot.volumeSizeInGb);
  const off = isNew
    ? (wrongLabel ?? wrongSize)
    : volumeActionDisabledReason('restore-into', volume, false) ||
      (typed !== volume.label && 'Type the volume label to confirm.');
  const order = isNew ? { into, label, sizeInGb: Number(size) } : { into };
  const flags = isNew ? `--label ${label || 'LABEL'} --size-gb ${size}` : '--in-place';
  return (
    <Dialog title={`Restore ${snapshot.label}`} about={`Snapshot of ${volume.label}.`} open onClose={onClose}>
      <Form error={restore.error} className="flex flex-col gap-4" onSend={() => restore.mutate(order)}>
        <SelectField
          label="Restore to"
          value={into}
          onValue={setInto}
          choices={[
            { value: 'new-volume', label: 'New volume' },
            { value: 'same-volume', label: `${volume.label} (replace its data)` },
          ]}
        />
        {isNew ? (
          <>
            <TextField
              label="New volume label"
              value={label}
              onValue={setLabel}
              error={label === '' ? undefined : (wrongLabel ?? undefined)}
              issue="label"
            />
            <TextField
              label="Size in GB"
              hint={`At least ${String(snapshot.volumeSizeInGb)} GB, the volume size at the time of the snapshot.`}
              type="number"
              min={snapshot.volumeSizeInGb}
              step={SIZE_STEP_GB}
              value={size}
              onValue={setSize}
              error={wrongSize ?? undefined}
              issue="sizeInGb"
            />
            {wrongSize === null && <VolumePrice region={volume.region} sizeInGb={Number(size)} />}
            <p className="text-soft">Billed from activation until deletion.</p>
          </>
        ) : (
          <>
            <InPlaceWarning volume={volume} />
            <TextField
              label={`Type ${volume.label} to confirm`}
              value={typed}
              autoComplete="off"
              onValue={setTyped}
            />
          </>
        )}
        {restore.error !== null && <Problem error={restore.error} doing="restore the snapshot" />}
        <CommandHint command={`millrace volume snapshot restore ${volume.label} ${snapshot.id} ${flags}`} />
        <FormButtons
          onClose={onClose}
          kind={isNew ? 'primary' : 'danger'}
          busy={restore.isPending && 'Restoring…'}
          off={off ?? false}
        >
          {isNew ? 'Restore to new volume' : `Replace ${volume.label}`}
        </FormButtons>
      </Form>
    </Dialog>
  );
}

function InPlaceWarning({ volume }: Readonly<{ volume: VolumeDetail }>) {
  return (
    <>
      <Note tone="warn">
        All data written to {volume.label} since the snapshot is lost. To keep it, take another snapshot
        first.
      </Note>
      <p>
        You cannot use the volume during the restore. Billing continues at{' '}
        <PerHour usd={volume.costPerHour} />.
        <LiveCost nano={volume.liveCostPerHourNanoUsd} perHour />
      </p>
    </>
  );
}
