import { useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { RequireScope } from '../../app/require-scope.tsx';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { PerHour } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { CreateVolume } from './create-volume.tsx';
import { readRestores, volumesToCheck } from './restore-status.ts';
import { volumePhase, type Volume } from './volume.ts';
import { VolumeState } from './volume-state.tsx';
import { TextLink } from '../../ui/link.tsx';

/** Storage that outlives rentals. */
export function VolumesPage() {
  return (
    <RequireScope
      scope="volumes:read"
      title="Volumes"
      who="Whoever may see volumes has a role that includes it."
    >
      <Volumes />
    </RequireScope>
  );
}

function useRestores(volumes: readonly Volume[]) {
  const ids = volumesToCheck(volumes);
  return useApiQuery(
    ['volumes', 'restoring', ...ids],
    (client, signal) => readRestores(client, ids, signal),
    {
      enabled: ids.length > 0,
      keepPrevious: true,
      refetchMs: (known) => ([...(known?.values() ?? [])].some((each) => each !== null) ? 2_000 : 15_000),
    },
  );
}

function Volumes() {
  const [isCreating, setCreating] = useState(false);
  const denied = useSession().mayNot('volumes:write');
  const pages = usePages<Volume>(
    ['volumes', 'list'],
    (client, signal) => client.volumes.list({ limit: 50 }, { signal }),
    {
      refetchMs: (volumes) =>
        volumes.some((volume) => volumePhase(volume) === 'being made') ? 2_000 : 15_000,
    },
  );
  const restoring = useRestores((pages.data?.pages ?? []).flatMap(({ items }) => items));
  const create = (
    <Button kind="primary" off={denied} onClick={() => setCreating(true)}>
      Create a volume
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Volumes"
        about="Storage that bare-metal rentals of its region mount over NFS, several at once. It keeps its data when they end."
        actions={create}
      />
      <Card flush>
        <PagedTable
          pages={pages}
          what="volumes"
          caption="Volumes"
          empty="You have no volumes yet."
          action={create}
          hint="Make one for data that should outlive the machine it is used on."
          columns={[
            {
              head: 'Label',
              main: true,
              cell: ({ id, label }) => (
                <TextLink
                  to="/volumes/$volumeId"
                  params={{ volumeId: String(id) }}
                  className="text-accent underline-offset-2"
                >
                  {label}
                </TextLink>
              ),
            },
            {
              head: 'State',
              cell: (volume) => (
                <VolumeState volume={{ ...volume, restoring: restoring.data?.get(volume.id) ?? null }} />
              ),
            },
            { head: 'Size', right: true, cell: ({ sizeInGb }) => `${String(sizeInGb)} GB` },
            { head: 'Where', cell: ({ region }) => region },
            {
              head: 'Attached to',
              cell: ({ attachedRentals }) =>
                attachedRentals.length === 0 ? 'nothing' : <Rentals ids={attachedRentals} />,
            },
            { head: 'Price', right: true, cell: ({ costPerHour }) => <PerHour usd={costPerHour} /> },
            { head: 'Made', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
          ]}
        />
      </Card>
      <CommandHint command="millrace volume list" />
      {isCreating && <CreateVolume onClose={() => setCreating(false)} />}
    </>
  );
}

function Rentals({ ids }: Readonly<{ ids: readonly number[] }>) {
  return (
    <span className="flex flex-wrap gap-x-2">
      {ids.map((id) => (
        <TextLink
          key={id}
          to="/rentals/$rentalId"
          params={{ rentalId: String(id) }}
          className="text-accent underline-offset-2"
        >
          {String(id)}
        </TextLink>
      ))}
    </span>
  );
}
