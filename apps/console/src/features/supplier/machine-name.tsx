import { useApiQuery } from '../../api/queries.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { TextLink } from '../../ui/link.tsx';

/** Link to a machine by name, with a button that copies its ID. Withdrawn machines have no page. */
export function MachineName({ machineId }: Readonly<{ machineId: string | null }>) {
  const machines = useApiQuery(
    ['supplier', 'machine-names'],
    (client, signal) => client.supplier.machines.list({ limit: 200 }, { signal }).all(),
    { enabled: machineId !== null },
  );
  if (machineId === null) return 'unknown';
  const machine = machines.data?.find(({ id }) => id === machineId);
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      {machine === undefined ? (
        machines.data === undefined ? (
          'machine'
        ) : (
          'withdrawn machine'
        )
      ) : (
        <TextLink to="/supplier/machines/$machineId" params={{ machineId }} className="break-all">
          {machine.name}
        </TextLink>
      )}
      <CopyButton text={machineId} what="machine ID" />
    </span>
  );
}
