import type { Input, Item } from '@millrace/sdk';
import { CalendarClock } from 'lucide-react';
import { useMemo, useState } from 'react';
import { nowMs } from '../../../api/clock.ts';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { TextField } from '../../../ui/field.tsx';
import { TextLink } from '../../../ui/link.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { localToInstant, instantToLocal } from '../common/local-time.ts';
import { maintenanceWindowIssue } from './maintenance-window-issue.ts';

type Window = Item<'adminListMaintenanceWindows'>;

const tones: Readonly<Record<Window['status'], Tone>> = {
  announced: 'info',
  in_progress: 'warn',
  completed: 'good',
  cancelled: 'plain',
};

function Cancel({ window }: Readonly<{ window: Window }>) {
  const isOver = window.status === 'completed' || window.status === 'cancelled';
  const label = window.status === 'in_progress' ? 'End early' : 'Cancel';
  return (
    <ActionButton
      label={label}
      title={`${label}: ${window.summary}`}
      kind="danger"
      doing="Cancelling…"
      done="Maintenance cancelled."
      off={isOver && `The maintenance is already ${window.status}.`}
      run={(client, reason) => client.admin.maintenanceWindows.cancel({ maintenanceId: window.id, reason })}
    >
      <p>
        Notified organisations get a cancellation notice. The nodes accept new rentals again, unless an
        operator drained or quarantined them.
      </p>
    </ActionButton>
  );
}

/** The other nodes are shown as a count. */
const NODES_SHOWN = 3;

function WindowNodes({ ids, names }: Readonly<{ ids: readonly string[]; names: NodeNames }>) {
  const named = ids.flatMap((id) => {
    const name = names.get(id);
    return name === undefined ? [] : [{ id, name }];
  });
  const shown = named.slice(0, NODES_SHOWN);
  const more = ids.length - shown.length;
  const moreNames = named.slice(NODES_SHOWN).map(({ name }) => name);
  return (
    <span className="flex flex-wrap justify-end gap-x-2 md:justify-start">
      {shown.map(({ id, name }) => (
        <TextLink key={id} to="/operator/nodes/$nodeId" params={{ nodeId: id }} className="wrap-anywhere">
          {name}
        </TextLink>
      ))}
      {more > 0 && (
        <span className="text-soft" title={moreNames.join(', ')}>
          {shown.length > 0 && 'and '}
          {more} {shown.length > 0 ? 'more' : 'nodes'}
        </span>
      )}
    </span>
  );
}

export type NodeNames = ReadonlyMap<string, string>;

const columnsOf = (names: NodeNames): readonly Column<Window>[] => [
  { head: 'Summary', main: true, cell: ({ summary }) => summary },
  { head: 'Status', cell: ({ status }) => <Badge tone={tones[status]}>{status.replaceAll('_', ' ')}</Badge> },
  {
    head: 'Period',
    cell: ({ startsAt, endsAt }) => (
      <>
        <Timestamp at={startsAt} /> to <Timestamp at={endsAt} />
      </>
    ),
  },
  { head: 'Drains from', cell: ({ drainsAt }) => <Timestamp at={drainsAt} /> },
  { head: 'Nodes', cell: ({ nodeIds }) => <WindowNodes ids={nodeIds} names={names} /> },
  { head: 'Affected rentals', right: true, cell: ({ affectedRentalCount }) => affectedRentalCount },
  { head: 'Actions', cell: (window) => <Cancel window={window} /> },
];

export function WindowTable({
  filter,
  names,
}: Readonly<{
  filter: Omit<Input<'adminListMaintenanceWindows'>, 'limit' | 'cursor'>;
  /** Names by node id; undefined while they load. Nodes without a name are counted. */
  names: NodeNames | undefined;
}>) {
  const pages = usePages(
    ['admin', 'windows', filter],
    (client, signal) => client.admin.maintenanceWindows.list({ ...filter, limit: 20 }, { signal }),
    { refetchMs: 10_000 },
  );
  const columns = useMemo(() => columnsOf(names ?? new Map()), [names]);
  return (
    <PagedTable
      pages={pages}
      isWaiting={names === undefined}
      what="maintenance windows"
      caption="Maintenance windows"
      columns={columns}
      icon={CalendarClock}
      empty="No maintenance planned"
      hint="Announce maintenance before you work on nodes: tenants are notified, and downtime is not billed."
    />
  );
}

const hourMs = 3_600_000;

/** The summary is shown to tenants and is also the reason in the audit log. */
export function AnnounceButton({
  nodes,
  onDone,
}: Readonly<{ nodes: readonly { readonly id: string; readonly name: string }[]; onDone?: () => void }>) {
  const [starts, setStarts] = useState('');
  const [ends, setEnds] = useState('');
  const [summary, setSummary] = useState('');
  const [startsAt, endsAt] = [localToInstant(starts), localToInstant(ends)];
  const names = nodes.length === 1 ? nodes[0]?.name : `${String(nodes.length)} nodes`;
  return (
    <ActionButton
      run={(client) =>
        client.admin.maintenanceWindows.create({
          nodeIds: nodes.map(({ id }) => id),
          startsAt: startsAt ?? '',
          endsAt: endsAt ?? '',
          summary: summary.trim(),
        })
      }
      label="Announce maintenance"
      title={`Announce maintenance of ${names ?? 'nodes'}`}
      doing="Announcing…"
      done={({ affectedRentalCount }) => `Announced. Affected rentals: ${String(affectedRentalCount)}.`}
      needsReason={false}
      off={nodes.length === 0 && 'Select at least one node.'}
      wait={maintenanceWindowIssue({ startsAt, endsAt, summary })}
      onOpen={() => {
        setStarts(instantToLocal(nowMs() + 24 * hourMs));
        setEnds(instantToLocal(nowMs() + 26 * hourMs));
      }}
      {...(onDone === undefined ? {} : { onDone })}
    >
      <p>
        Organisations with rentals on {names} are notified now, at the start and at the end. Downtime is not
        billed.
      </p>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <TextField label="Start" type="datetime-local" value={starts} issue="startsAt" onValue={setStarts} />
        <TextField label="End" type="datetime-local" value={ends} issue="endsAt" onValue={setEnds} />
      </div>
      <TextField
        label="Message to tenants"
        placeholder="Fan replacement"
        value={summary}
        maxLength={500}
        issue="summary"
        onValue={setSummary}
      />
    </ActionButton>
  );
}
