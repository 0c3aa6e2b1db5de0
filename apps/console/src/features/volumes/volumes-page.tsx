import { HardDrive } from 'lucide-react';
import { useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { RequireScope } from '../../app/require-scope.tsx';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { LiveCost, PerHour } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { CreateVolume } from './create-volume.tsx';
import { useLivePrices } from '../../api/use-live-volume-prices.ts';
import type { LivePriceOf } from '../../api/live-volume-prices.ts';
import { readRestores, volumesToCheck, type RestoreStatus } from './restore-status.ts';
import { volumePhase, type Volume } from './volume.ts';
import { VolumeState } from './volume-state.tsx';
import { TextLink } from '../../ui/link.tsx';
import { useCreateHash } from '../../app/use-create-hash.ts';

export function VolumesPage() {
  return (
    <RequireScope
      scope="volumes:read"
      title="Volumes"
      who="Ask an owner or admin for a role that can see volumes."
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
  useCreateHash(() => setCreating(denied === false));
  const pages = usePages<Volume>(
    ['volumes', 'list'],
    (client, signal) => client.volumes.list({ limit: 50 }, { signal }),
    {
      refetchMs: (listed) => (listed.some((volume) => volumePhase(volume) === 'creating') ? 2_000 : 15_000),
    },
  );
  const volumes = pages.data?.items ?? [];
  const restoring = useRestores(volumes);
  const livePriceOf = useLivePrices(volumes);
  const create = (
    <Button kind="primary" off={denied} onClick={() => setCreating(true)}>
      Create volume
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Volumes"
        about="Shared NFS storage for bare metal in the same region. Data is kept when rentals end."
        actions={create}
      />
      <Card flush>
        <PagedTable
          pages={pages}
          what="volumes"
          caption="Volumes"
          icon={HardDrive}
          empty="No volumes yet"
          action={create}
          hint="Create one for data that must outlive a machine."
          columns={columnsOf(restoring.data, livePriceOf)}
        />
      </Card>
      <CommandHint command="millrace volume list" />
      {isCreating && <CreateVolume onClose={() => setCreating(false)} />}
    </>
  );
}

const columnsOf = (
  restores: ReadonlyMap<number, RestoreStatus> | undefined,
  livePriceOf: LivePriceOf,
): readonly Column<Volume>[] => [
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
    head: 'Status',
    cell: (volume) => <VolumeState volume={{ ...volume, restoring: restores?.get(volume.id) ?? null }} />,
  },
  { head: 'Size', right: true, cell: ({ sizeInGb }) => `${String(sizeInGb)} GB` },
  { head: 'Region', cell: ({ region }) => region },
  {
    head: 'Attached to',
    cell: ({ attachedRentals }) =>
      attachedRentals.length === 0 ? 'nothing' : <Rentals ids={attachedRentals} />,
  },
  {
    head: 'Price',
    right: true,
    cell: (volume) => (
      <>
        <PerHour usd={volume.costPerHour} />
        <LiveCost nano={livePriceOf(volume)} perHour />
      </>
    ),
  },
  { head: 'Created', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
];

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
