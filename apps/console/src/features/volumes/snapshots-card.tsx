import { Camera } from 'lucide-react';
import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { LiveCost, PerHour } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { Problem } from '../../ui/states.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';
import { RestoreSnapshot, type SnapshotProps } from './restore-snapshot.tsx';
import { volumeActionDisabledReason, type Snapshot, type VolumeDetail } from './volume.ts';
import { Form } from '../../ui/form.tsx';

export function SnapshotsCard({ volume }: Readonly<{ volume: VolumeDetail }>) {
  const { id: storageVolumeId } = volume;
  const denied = useSession().mayNot('volumes:write');
  const [losing, setLosing] = useState<Snapshot | null>(null);
  const [restoring, setRestoring] = useState<Snapshot | null>(null);
  const pages = usePages<Snapshot>(
    ['volumes', 'one', storageVolumeId, 'snapshots'],
    (client, signal) => client.volumes.listSnapshots({ storageVolumeId, limit: 50 }, { signal }),
    {
      refetchMs: (snapshots) =>
        snapshots.some(({ status }) => status === 'creating' || status === 'deleting') ? 2_000 : 30_000,
    },
  );
  return (
    <Card title="Snapshots" about="Point-in-time copies, billed by the space they use." flush>
      <NewSnapshot volume={volume} off={volumeActionDisabledReason('snapshot', volume, denied)} />
      <PagedTable
        pages={pages}
        what="snapshots"
        caption="Snapshots of this volume, newest first"
        icon={Camera}
        empty="No snapshots yet"
        hint="Take one before large changes, or to keep a state."
        columns={[
          {
            head: 'Label',
            main: true,
            cell: ({ label, id }) => (
              <>
                {label}
                <span className="text-soft block text-xs font-normal">
                  <Id value={id} what="snapshot ID" />
                </span>
              </>
            ),
          },
          { head: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
          { head: 'Size', right: true, cell: ({ sizeInGb }) => `${String(sizeInGb)} GB` },
          {
            head: 'Price',
            right: true,
            cell: ({ costPerHour, liveCostPerHourNanoUsd: live }) => (
              <>
                <PerHour usd={costPerHour} />
                <LiveCost nano={live} perHour />
              </>
            ),
          },
          { head: 'Taken', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
          {
            head: 'Actions',
            cell: (snapshot) => (
              <SnapshotActions
                volume={volume}
                snapshot={snapshot}
                onRestore={() => setRestoring(snapshot)}
                onDelete={() => setLosing(snapshot)}
              />
            ),
          },
        ]}
      />
      {restoring !== null && (
        <RestoreSnapshot volume={volume} snapshot={restoring} onClose={() => setRestoring(null)} />
      )}
      {losing !== null && (
        <DeleteSnapshot volume={volume} snapshot={losing} onClose={() => setLosing(null)} />
      )}
    </Card>
  );
}

interface SnapshotActionsProps {
  readonly volume: VolumeDetail;
  readonly snapshot: Snapshot;
  readonly onRestore: () => void;
  readonly onDelete: () => void;
}

function SnapshotActions({ volume, snapshot, onRestore, onDelete }: SnapshotActionsProps) {
  const denied = useSession().mayNot('volumes:write');
  return (
    <span className="flex flex-wrap gap-2">
      <Button
        size="small"
        off={
          volumeActionDisabledReason('restore-from', volume, denied) ||
          (snapshot.status !== 'ready' && 'You can restore a snapshot when it is ready.')
        }
        onClick={onRestore}
      >
        Restore
      </Button>
      <Button
        size="small"
        kind="danger"
        off={denied || (snapshot.status === 'deleting' && 'The snapshot is being deleted.')}
        onClick={onDelete}
      >
        Delete
      </Button>
    </span>
  );
}

function DeleteSnapshot({ volume, snapshot, onClose }: SnapshotProps) {
  return (
    <ConfirmDialog
      title={`Delete snapshot ${snapshot.label}?`}
      open
      onClose={onClose}
      action="Delete"
      doing="Deleting…"
      typed={snapshot.label}
      run={(client) => client.volumes.deleteSnapshot({ storageVolumeId: volume.id, snapshotId: snapshot.id })}
      changes={['volumes', 'money']}
      onDone={(toast) => toast('Snapshot deleted')}
    >
      <p>The state of {volume.label} at that time is lost. The volume itself stays and keeps billing.</p>
      <p>You pay nothing for the snapshot afterwards.</p>
    </ConfirmDialog>
  );
}

function NewSnapshot({ volume, off }: Readonly<{ volume: VolumeDetail; off: string | false }>) {
  const [label, setLabel] = useState('');
  const toast = useToast();
  const create = useApiMutation(
    (client, name: string) =>
      client.volumes.createSnapshot({ storageVolumeId: volume.id, ...(name === '' ? {} : { label: name }) }),
    {
      changes: ['volumes', 'money'],
      onSuccess: ({ label: made }) => {
        toast('Taking a snapshot', made);
        setLabel('');
      },
    },
  );
  return (
    <Form className="border-line flex flex-col gap-3 border-b p-4" onSend={() => create.mutate(label.trim())}>
      <div className="flex flex-wrap items-end gap-3">
        <div className="min-w-52 flex-1">
          <TextField
            label="New snapshot label"
            placeholder="generated"
            value={label}
            onValue={setLabel}
            error={fieldIssue(create.error, 'label')}
          />
        </div>
        <Button type="submit" busy={create.isPending && 'Taking snapshot…'} off={off}>
          Take snapshot
        </Button>
      </div>
      {create.error !== null && <Problem error={create.error} doing="take a snapshot" />}
    </Form>
  );
}
