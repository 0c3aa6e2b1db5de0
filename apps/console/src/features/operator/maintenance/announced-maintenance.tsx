import type { Item } from '@millrace/sdk';
import { useApiQuery } from '../../../api/queries.ts';
import { TextLink } from '../../../ui/link.tsx';
import { Note } from '../../../ui/states.tsx';
import { Timestamp } from '../../../ui/time.tsx';

type MaintenanceWindow = Item<'adminListMaintenanceWindows'>;

/** Maintenance of a node that is announced or in progress; undefined while it loads. */
export function useAnnouncedMaintenance(nodeId: string): readonly MaintenanceWindow[] | undefined {
  const windows = useApiQuery(
    ['admin', 'windows', 'of-node', nodeId],
    (client, signal) => client.admin.maintenanceWindows.list({ nodeId, limit: 20 }, { signal }).all(),
    { refetchMs: 10_000 },
  );
  if (windows.isPending) return undefined;
  return (windows.data ?? []).filter(({ status }) => status === 'announced' || status === 'in_progress');
}

interface AnnouncedMaintenanceProps {
  readonly nodeId: string;
  readonly windows: readonly MaintenanceWindow[];
}

export function AnnouncedMaintenance({ nodeId, windows }: AnnouncedMaintenanceProps) {
  return windows.map(({ id, status, summary, startsAt, endsAt, affectedRentalCount }) => (
    <div key={id} className="mb-4">
      <Note tone={status === 'in_progress' ? 'warn' : 'info'}>
        {status === 'in_progress' ? 'Maintenance in progress' : 'Maintenance announced'}: {summary}.{' '}
        <Timestamp at={startsAt} /> to <Timestamp at={endsAt} />. Affected rentals: {affectedRentalCount}.{' '}
        <TextLink to="/operator/maintenance" search={{ node: nodeId }}>
          All maintenance
        </TextLink>
      </Note>
    </div>
  ));
}
