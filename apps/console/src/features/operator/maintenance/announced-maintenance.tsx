import { useApiQuery } from '../../../api/queries.ts';
import { TextLink } from '../../../ui/link.tsx';
import { Note } from '../../../ui/states.tsx';
import { Timestamp } from '../../../ui/time.tsx';

/** Says which maintenance of a node is announced or in progress. */
export function AnnouncedMaintenance({ nodeId }: Readonly<{ nodeId: string }>) {
  const windows = useApiQuery(
    ['admin', 'windows', 'of-node', nodeId],
    (client, signal) => client.admin.maintenanceWindows.list({ nodeId, limit: 20 }, { signal }).all(),
    { refetchMs: 10_000 },
  );
  const open = (windows.data ?? []).filter(
    ({ status }) => status === 'announced' || status === 'in_progress',
  );
  return open.map(({ id, status, summary, startsAt, endsAt, affectedRentalCount }) => (
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
