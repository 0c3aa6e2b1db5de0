import { ConfirmDialog } from '../../ui/dialog.tsx';
import { LiveCost, PerHour } from '../../ui/money.tsx';
import { volumePhase, type VolumeDetail } from './volume.ts';

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** Destroys data, so the user must type the label. */
export function DeleteVolume({
  volume,
  open,
  onClose,
  onDeleted,
}: Readonly<{ volume: VolumeDetail; open: boolean; onClose: () => void; onDeleted: () => void }>) {
  return (
    <ConfirmDialog
      title={`Delete ${volume.label}?`}
      open={open}
      onClose={onClose}
      action="Delete"
      doing="Deleting…"
      typed={volume.label}
      run={(client) => client.volumes.delete({ storageVolumeId: volume.id })}
      changes={['volumes', 'money']}
      onDone={(toast, { purgeAt, label }) => {
        const until = purgeAt === null ? undefined : when.format(new Date(purgeAt));
        toast(`Deleted ${label}`, until && `Its data is kept and billed until ${until}.`);
        onDeleted();
      }}
    >
      <p>All data ({volume.sizeInGb} GB) and all snapshots are deleted. You cannot undo this.</p>
      {volumePhase(volume) === 'creating' ? (
        <p>The volume is not active yet, so it has cost nothing.</p>
      ) : (
        <p>
          The data is kept for up to 72 hours, or less if the money held does not suffice, in case the
          operator has to help you. Until then it is billed: <PerHour usd={volume.costPerHour} />. You pay
          nothing afterwards.
          <LiveCost nano={volume.liveCostPerHourNanoUsd} perHour />
        </p>
      )}
    </ConfirmDialog>
  );
}
