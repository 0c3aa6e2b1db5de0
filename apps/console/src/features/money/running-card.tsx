import { Server } from 'lucide-react';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/page.tsx';
import { EmptyState, Note, QueryView } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { readLivePrices } from '../../api/live-volume-prices.ts';
import { HourlyCost } from '../rentals/hourly-cost.tsx';
import { readRestores, volumesToCheck } from '../volumes/restore-status.ts';
import {
  mostExpensiveFirst,
  instanceCost,
  rentalCost,
  volumeCost,
  type RunningCost,
} from './running-costs.ts';
import { TextLink } from '../../ui/link.tsx';

const columns: readonly Column<RunningCost>[] = [
  { head: 'Resource', main: true, cell: ({ name, to }) => <TextLink to={to}>{name}</TextLink> },
  { head: 'Type', cell: ({ kind }) => <Badge>{kind}</Badge> },
  { head: 'Note', cell: ({ note }) => <span className="text-soft">{note ?? '–'}</span> },
  {
    head: 'Cost per hour',
    right: true,
    // The note says if a reserved term pays.
    cell: ({ perHour, livePerHour, whileRunning }) => (
      <HourlyCost {...{ perHour, livePerHour, whileRunning }} />
    ),
  },
];

/** Omits lists that the user cannot read, and says so. */
export function RunningCard() {
  const {
    may,
    place: { mode },
  } = useSession();
  const [rentals, volumes, instances] = [may('rentals:read'), may('volumes:read'), may('marketplace:read')];
  const costs = useApiQuery(
    ['money', 'running', rentals, volumes, instances],
    async (client, signal): Promise<readonly RunningCost[]> => {
      const [ofRentals, ofVolumes, ofInstances] = await Promise.all([
        rentals ? client.rentals.list({ limit: 200 }, { signal }).all() : [],
        volumes ? client.volumes.list({}, { signal }).all() : [],
        instances ? client.marketplace.instances.list({}, { signal }).all() : [],
      ]);
      const [restoring, livePriceOf] = await Promise.all([
        readRestores(client, volumesToCheck(ofVolumes), signal),
        readLivePrices(client, mode, ofVolumes, signal),
      ]);
      return mostExpensiveFirst([
        ...ofRentals.map(rentalCost),
        ...ofVolumes.map((volume) =>
          volumeCost({
            ...volume,
            restoring: restoring.get(volume.id) ?? null,
            liveCostPerHourNanoUsd: livePriceOf(volume),
          }),
        ),
        ...ofInstances.map((instance) => instanceCost(instance, mode)),
      ]);
    },
    { refetchMs: 15_000 },
  );
  const hidden = [
    rentals ? null : 'rentals',
    volumes ? null : 'volumes',
    instances ? null : 'marketplace instances',
  ].filter((what) => what !== null);
  return (
    <Card title="Active resources" about="Cost per hour of everything that is running." flush>
      {hidden.length > 0 && (
        <div className="p-4">
          <Note>Not listed because of your role: {hidden.join(', ')}. The cost per hour includes them.</Note>
        </div>
      )}
      <QueryView query={costs} what="active resources">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState
              icon={Server}
              title="Nothing is running"
              action={<TextLink to="/catalog">Browse the catalog</TextLink>}
            />
          ) : (
            <Table
              caption="Active resources and their cost per hour"
              columns={columns}
              rows={rows}
              rowKey={({ key }) => key}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
