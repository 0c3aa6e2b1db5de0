import { randomRentalName } from '@millrace/sdk/text';
import type { Input } from '@millrace/sdk';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { randomBelow } from '../../api/random.ts';
import { CommandHint } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Problem, QueryView } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { labelIssue, sizeIssue, SIZE_STEP_GB, volumeRegions } from './volume.ts';
import { VolumePrice } from './volume-price.tsx';
import { Form, FormButtons } from '../../ui/form.tsx';

type CreateVolumeInput = Input<'createStorageVolume'>;

/** Regions, those with bare metal first, because only bare metal mounts volumes. */
function useRegions() {
  return useApiQuery(
    ['catalog', 'metal-regions'],
    async (client, signal) => {
      const options = await client.options.list({ limit: 200 }, { signal }).all();
      return volumeRegions(options);
    },
    { refetchMs: 60_000 },
  );
}

export function CreateVolume({ onClose }: Readonly<{ onClose: () => void }>) {
  const regions = useRegions();
  return (
    <Dialog
      title="Create volume"
      about="Billed by size from activation until deletion, attached or not."
      open
      onClose={onClose}
    >
      <QueryView query={regions} what="regions">
        {(names) =>
          names.length === 0 ? (
            <p>No region has machines to rent right now, so you could not use a volume.</p>
          ) : (
            <CreateForm regions={names} onClose={onClose} />
          )
        }
      </QueryView>
    </Dialog>
  );
}

function CreateForm({ regions, onClose }: Readonly<{ regions: readonly string[]; onClose: () => void }>) {
  const navigate = useNavigate();
  const toast = useToast();
  const [label, setLabel] = useState(() => randomRentalName(randomBelow));
  const [region, setRegion] = useState(regions[0] ?? '');
  const [size, setSize] = useState(String(SIZE_STEP_GB));
  const create = useApiMutation((client, request: CreateVolumeInput) => client.volumes.create(request), {
    changes: ['volumes', 'money'],
    onSuccess: ({ storageVolumeId, message }) => {
      toast('Creating the volume', message);
      onClose();
      void navigate({ to: '/volumes/$volumeId', params: { volumeId: String(storageVolumeId) } });
    },
  });
  const wrongLabel = labelIssue(label);
  const wrongSize = sizeIssue(size, SIZE_STEP_GB);
  return (
    <Form
      className="flex flex-col gap-4"
      onSend={() =>
        create.mutate({ region: region as CreateVolumeInput['region'], label, sizeInGb: Number(size) })
      }
    >
      <TextField
        label="Label"
        hint="Letters, digits, _ and -. Must be unique among your volumes."
        value={label}
        onValue={setLabel}
        error={wrongLabel ?? fieldIssue(create.error, 'label')}
      />
      <SelectField
        label="Region"
        hint="Rentals in this region can mount it. You cannot move a volume."
        value={region}
        onValue={setRegion}
        choices={regions}
        error={fieldIssue(create.error, 'region')}
      />
      <TextField
        label="Size in GB"
        hint={`In steps of ${String(SIZE_STEP_GB)}. You can grow a volume later, but not shrink it.`}
        type="number"
        min={SIZE_STEP_GB}
        step={SIZE_STEP_GB}
        value={size}
        onValue={setSize}
        error={wrongSize ?? fieldIssue(create.error, 'sizeInGb')}
      />
      {wrongSize === null && <VolumePrice region={region} sizeInGb={Number(size)} />}
      {create.error !== null && <Problem error={create.error} doing="create the volume" />}
      <CommandHint command={`millrace volume create ${label} --region ${region} --size-gb ${size}`} />
      <FormButtons
        onClose={onClose}
        cancel="Cancel"
        busy={create.isPending && 'Creating…'}
        off={wrongLabel ?? wrongSize ?? false}
      >
        Create
      </FormButtons>
    </Form>
  );
}
