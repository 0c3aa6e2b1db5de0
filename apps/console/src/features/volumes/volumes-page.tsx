import { HardDrive } from 'lucide-react';
import { useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { RequireScope } from '../../app/require-scope.tsx';
import type { ResourceNames } from '../../api/resource-names.ts';
import { useResourceNames } from '../../api/use-resource-names.ts';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { headlineUsd } from '../../ui/logic/headline-usd.ts';
import { LiveCost, PerHour } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { CreateVolume } from './create-volume.tsx';
import { useLivePrices } from '../../api/use-live-volume-prices.ts';
import type { LivePriceOf } from '../../api/live-volume-prices.ts';
import { readRestores, volumesToCheck, type RestoreStatus } from './restore-status.ts';
import { costIn30Days, isBilledUnused, volumePhase, type Volume } from './volume.ts';
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
  const names = useResourceNames([], ['rental']);
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
          isWaiting={names.isLoading}
          columns={columnsOf(restoring.data, livePriceOf, names.nameOf)}
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
  nameOf: ResourceNames['nameOf'],
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
    cell: (volume) =>
      volume.attachedRentals.length > 0 ? (
        <Rentals ids={volume.attachedRentals} nameOf={nameOf} />
      ) : isBilledUnused(volume) ? (
        <Badge tone="warn">nothing, still billed</Badge>
      ) : (
        'nothing'
      ),
  },
  {
    head: 'Price',
    right: true,
    cell: (volume) => (
      <>
        <PerHour usd={volume.costPerHour} />
        <LiveCost nano={livePriceOf(volume)} perHour />
        {volume.costPerHour > 0 && (
          <span className="text-soft block text-xs">{headlineUsd(costIn30Days(volume)).text} in 30 days</span>
        )}
      </>
    ),
  },
  { head: 'Created', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
];

interface RentalsProps {
  readonly ids: readonly number[];
  readonly nameOf: ResourceNames['nameOf'];
}

function Rentals({ ids, nameOf }: RentalsProps) {
  return (
    <span className="flex flex-wrap gap-x-2">
      {ids.map((id) => (
        <TextLink
          key={id}
          to="/rentals/$rentalId"
          params={{ rentalId: String(id) }}
          className="text-accent underline-offset-2"
        >
          {nameOf({ kind: 'rental', id: String(id) }) ?? `Rental ${String(id)}`}
        </TextLink>
      ))}
    </span>
  );
}
