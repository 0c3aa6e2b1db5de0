import type { Input, Item } from '@millrace/sdk';
import { useState } from 'react';
import { nowMs } from '../../../api/clock.ts';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { TextField } from '../../../ui/field.tsx';
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
  const label = window.status === 'in_progress' ? 'End early' : 'Call off';
  return (
    <ActionButton
      label={label}
      title={`${label}: ${window.summary}`}
      kind="danger"
      doing="Calling off…"
      done="The maintenance is called off."
      off={isOver && `It is ${window.status} already.`}
      run={(client, reason) => client.admin.maintenanceWindows.cancel({ maintenanceId: window.id, reason })}
    >
      <p>
        The organisations that were told of it are told that it is off, and its nodes take work again unless
        somebody drained or quarantined them meanwhile.
      </p>
    </ActionButton>
  );
}

const columns: readonly Column<Window>[] = [
  { head: 'What', main: true, cell: ({ summary }) => summary },
  { head: 'State', cell: ({ status }) => <Badge tone={tones[status]}>{status.replaceAll('_', ' ')}</Badge> },
  {
    head: 'When',
    cell: ({ startsAt, endsAt }) => (
      <>
        <Timestamp at={startsAt} /> to <Timestamp at={endsAt} />
      </>
    ),
  },
  { head: 'Drains from', cell: ({ drainsAt }) => <Timestamp at={drainsAt} /> },
  { head: 'Nodes', right: true, cell: ({ nodeIds }) => nodeIds.length },
  { head: 'Rentals told', right: true, cell: ({ affectedRentalCount }) => affectedRentalCount },
  { head: 'Act', cell: (window) => <Cancel window={window} /> },
];

export function WindowTable({
  filter,
}: Readonly<{ filter: Omit<Input<'adminListMaintenanceWindows'>, 'limit' | 'cursor'> }>) {
  const pages = usePages(
    ['admin', 'windows', filter],
    (client, signal) => client.admin.maintenanceWindows.list({ ...filter, limit: 20 }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <PagedTable
      pages={pages}
      what="maintenance windows"
      caption="Maintenance windows"
      columns={columns}
      empty="No maintenance is announced"
      hint="Announce it before you work on nodes: tenants are told, and time away is not billed."
    />
  );
}

const hourMs = 3_600_000;

/** Announces maintenance of some nodes. The summary is what tenants read, and is the reason in the audit log too. */
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
      done={({ affectedRentalCount }) =>
        `Announced. Rentals whose tenants were told: ${String(affectedRentalCount)}.`
      }
      needsReason={false}
      off={nodes.length === 0 && 'Choose nodes first.'}
      wait={maintenanceWindowIssue({ startsAt, endsAt, summary })}
      onOpen={() => {
        setStarts(instantToLocal(nowMs() + 24 * hourMs));
        setEnds(instantToLocal(nowMs() + 26 * hourMs));
      }}
      {...(onDone === undefined ? {} : { onDone })}
    >
      <p>
        Organisations with something on {names} are told at once, and again when it begins and ends. Time that
        a machine is away is not billed.
      </p>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <TextField label="Begins" type="datetime-local" value={starts} issue="startsAt" onValue={setStarts} />
        <TextField label="Ends" type="datetime-local" value={ends} issue="endsAt" onValue={setEnds} />
      </div>
      <TextField
        label="What tenants are told"
        placeholder="A fan is replaced"
        value={summary}
        maxLength={500}
        issue="summary"
        onValue={setSummary}
      />
    </ActionButton>
  );
}
