import { ConfirmDialog } from '../../ui/dialog.tsx';
import { PerHour } from '../../ui/money.tsx';
import { volumePhase, type VolumeDetail } from './volume.ts';

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** Data is destroyed here, so the label has to be typed. */
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
        toast(`${label} is deleted`, until && `Its data is kept, and costs, until ${until}.`);
        onDeleted();
      }}
    >
      <p>
        All that is on it, {volume.sizeInGb} GB, and all of its snapshots are destroyed. Nobody can use it
        from now on, and you cannot take this back.
      </p>
      {volumePhase(volume) === 'being made' ? (
        <p>It is not active yet, so it has cost nothing.</p>
      ) : (
        <p>
          Its data is kept for up to 72 hours in case the operator has to help you, or shorter where the money
          does not reach, and costs on as it is until then: <PerHour usd={volume.costPerHour} />. After that
          it costs nothing.
        </p>
      )}
    </ConfirmDialog>
  );
}
