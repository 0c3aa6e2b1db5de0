import { useNavigate, useParams } from '@tanstack/react-router';
import { HardDrive } from 'lucide-react';
import { useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CommandHint, Id } from '../../ui/copy.tsx';
import { headlineUsd } from '../../ui/logic/headline-usd.ts';
import { LiveCost, PerHour } from '../../ui/money.tsx';
import { Card, DescriptionList, KeyFigures, PageHeader } from '../../ui/page.tsx';
import { EmptyState, Note, QueryView } from '../../ui/states.tsx';
import { RelativeTime, Timestamp } from '../../ui/time.tsx';
import { AttachCard } from './attach-card.tsx';
import { UpdateVolume } from './update-volume.tsx';
import { DeleteVolume } from './delete-volume.tsx';
import { SnapshotsCard } from './snapshots-card.tsx';
import {
  costIn30Days,
  fstabLine,
  volumeRefetchMs,
  isBilledUnused,
  phaseDescription,
  mountCommands,
  volumePhase,
  volumeActionDisabledReason,
  type VolumeDetail,
} from './volume.ts';
import { VolumeState } from './volume-state.tsx';
import { LinkButton, TextLink } from '../../ui/link.tsx';

const back = (
  <TextLink to="/volumes" className="text-soft underline-offset-2">
    ← Volumes
  </TextLink>
);

export function VolumePage() {
  const { volumeId } = useParams({ from: '/shell/inside/volumes/$volumeId' });
  if (/^\d{1,10}$/.test(volumeId)) return <VolumeById storageVolumeId={Number(volumeId)} />;
  return (
    <>
      <PageHeader title="Volume not found" back={back} />
      <EmptyState
        icon={HardDrive}
        title="The address is not valid: volume IDs are numbers."
        action={
          <LinkButton to="/volumes" kind="primary">
            View volumes
          </LinkButton>
        }
      />
    </>
  );
}

function VolumeById({ storageVolumeId }: Readonly<{ storageVolumeId: number }>) {
  const query = useApiQuery<VolumeDetail>(
    ['volumes', 'one', storageVolumeId],
    (client, signal) => client.volumes.get({ storageVolumeId }, { signal }),
    { refetchMs: volumeRefetchMs },
  );
  if (query.data === undefined) {
    return (
      <>
        <PageHeader title={`Volume ${String(storageVolumeId)}`} back={back} />
        <QueryView query={query} what="volume">
          {() => null}
        </QueryView>
      </>
    );
  }
  return (
    <>
      <VolumeHead volume={query.data} />
      <QueryView query={query} what="volume">
        {(volume) => <VolumeCards volume={volume} />}
      </QueryView>
      <CommandHint command={`millrace volume get ${query.data.label}`} />
    </>
  );
}

function VolumeHead({ volume }: Readonly<{ volume: VolumeDetail }>) {
  const [dialog, setDialog] = useState<'change' | 'delete' | null>(null);
  const navigate = useNavigate();
  const denied = useSession().mayNot('volumes:write');
  return (
    <PageHeader
      title={volume.label}
      back={back}
      about={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <VolumeState volume={volume} />
          <span>
            {volume.sizeInGb} GB in {volume.region}
          </span>
          <span className="inline-flex items-center gap-1">
            Number <Id value={String(volume.id)} what="volume number" />
          </span>
        </span>
      }
      actions={
        <>
          <Button
            off={volumeActionDisabledReason('update', volume, denied)}
            onClick={() => setDialog('change')}
          >
            Edit
          </Button>
          <Button
            kind="danger"
            off={volumeActionDisabledReason('delete', volume, denied)}
            onClick={() => setDialog('delete')}
          >
            Delete
          </Button>
          {dialog === 'change' && <UpdateVolume volume={volume} onClose={() => setDialog(null)} />}
          <DeleteVolume
            volume={volume}
            open={dialog === 'delete'}
            onClose={() => setDialog(null)}
            onDeleted={() => void navigate({ to: '/volumes' })}
          />
        </>
      }
    />
  );
}

function VolumeCards({ volume }: Readonly<{ volume: VolumeDetail }>) {
  const phase = volumePhase(volume);
  return (
    <>
      <section aria-label="Status" className="border-line bg-surface mb-block rounded-lg border p-4">
        <p>
          <strong>{`${phase.slice(0, 1).toUpperCase()}${phase.slice(1)}:`}</strong> {phaseDescription(volume)}
        </p>
        {volume.statusReason !== null && <p className="text-soft">{volume.statusReason}</p>}
        {volume.purgeAt !== null && (
          <div className="mt-3">
            <Note tone="warn">
              Its data is deleted <RelativeTime at={volume.purgeAt} />, at <Timestamp at={volume.purgeAt} />.
            </Note>
          </div>
        )}
        {volume.growingToGb !== null && (
          <p role="status" className="mt-2">
            Growing to {volume.growingToGb} GB. The new size is billed once it is available.
          </p>
        )}
      </section>
      <KeyFigures
        items={[
          {
            label: 'Price',
            value: <PerHour usd={volume.costPerHour} />,
            note: (
              <>
                <LiveCost nano={volume.liveCostPerHourNanoUsd} perHour />
                {volume.costPerHour > 0
                  ? `${headlineUsd(costIn30Days(volume)).text} in 30 days, attached or not`
                  : 'by size, attached or not'}
              </>
            ),
          },
          { label: 'Size', value: `${String(volume.sizeInGb)} GB` },
          {
            label: 'Attached to',
            value:
              volume.attachedRentals.length === 1
                ? '1 rental'
                : `${String(volume.attachedRentals.length)} rentals`,
            ...(isBilledUnused(volume) && { note: 'still billed: delete it if you no longer need it' }),
          },
          { label: 'Created', value: <RelativeTime at={volume.createdAt} /> },
        ]}
      />
      <AttachCard volume={volume} />
      {phase === 'active' && <MountCard volume={volume} />}
      <SnapshotsCard volume={volume} />
      <Card title="Details">
        <DescriptionList
          items={[
            ['Address', <Id key="vip" value={volume.vip} what="volume address" />],
            ['Created', <Timestamp key="made" at={volume.createdAt} />],
            volume.startedAt === null
              ? null
              : ['Billed since', <Timestamp key="since" at={volume.startedAt} />],
            Object.keys(volume.tags).length === 0
              ? null
              : [
                  'Tags',
                  Object.entries(volume.tags)
                    .map(([name, value]) => `${name}=${value}`)
                    .join(', '),
                ],
            ['ID', <Id key="id" value={volume.externalId} what="volume ID" />],
          ]}
        />
      </Card>
    </>
  );
}

function MountCard({ volume }: Readonly<{ volume: VolumeDetail }>) {
  return (
    <Card title="Mount" about="Run on a rental that the volume is attached to.">
      <div className="flex flex-col gap-3">
        <CodeBlock code={mountCommands(volume)} what="mount commands" label="Now" />
        <CodeBlock code={fstabLine(volume)} what="fstab line" label="At boot: add to /etc/fstab" />
      </div>
    </Card>
  );
}
