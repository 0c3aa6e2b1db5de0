import type { Output, Item } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge, StateBadge } from '../../../ui/badge.tsx';
import { CommandHint, Id } from '../../../ui/copy.tsx';
import { TextField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card, DescriptionList, PageHeader } from '../../../ui/page.tsx';
import { EmptyState, Note } from '../../../ui/states.tsx';
import { QueryPage } from '../../../ui/query-page.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { RelativeTime, Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { countsOf, countsText } from './fleet-layout.ts';
import { localToInstant } from '../common/local-time.ts';
import { AnnounceButton, WindowTable } from '../maintenance/maintenance-windows.tsx';
import { nodeActionDisabledReason, rentalsText, writeOffDisabledReason } from './node-actions.ts';
import { operatorPage } from '../common/operator-page.tsx';
import { RentalTable } from '../rentals/rental-table.tsx';
import { WriteOffButton } from '../common/write-off-button.tsx';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/nodes/$nodeId');

const toFleet = <TextLink to="/operator">Fleet</TextLink>;

type Node = Output<'adminGetNode'>;
type Gpu = Node['gpus'][number];

export const NodePage = operatorPage('Node', NodeLoaded);

function NodeLoaded() {
  const { nodeId } = route.useParams();
  const node = useApiQuery(
    ['admin', 'node', nodeId],
    (client, signal) => client.admin.nodes.get({ nodeId }, { signal }),
    { refetchMs: 2_000 },
  );
  return (
    <QueryPage query={node} title="Node" what="node" back={toFleet}>
      {(loaded) => <NodeDetail node={loaded} />}
    </QueryPage>
  );
}

function NodeDetail({ node }: Readonly<{ node: Node }>) {
  return (
    <>
      <PageHeader
        title={node.name}
        back={toFleet}
        about={
          <>
            <StateBadge state={node.status} /> since <RelativeTime at={node.statusSince} />
            {node.statusReason !== null && <>: {node.statusReason}</>}
          </>
        }
        actions={<NodeActions node={node} />}
      />
      {node.drainDeadlineAt !== null && (
        <div className="mb-4">
          <Note tone="warn">
            It should be empty by <Timestamp at={node.drainDeadlineAt} />. {rentalsText(node.liveRentalCount)}{' '}
            still on it; nothing is ended at that moment.
          </Note>
        </div>
      )}
      <Hardware node={node} />
      <Card title="GPUs" about={countsText(countsOf([node]))} flush>
        <Gpus node={node} />
      </Card>
      <Card title="Who is on it" about={`${rentalsText(node.liveRentalCount)} on this node.`} flush>
        <RentalTable filter={{ nodeId: node.id }} empty="No rentals on this node" />
      </Card>
      <Card title="Maintenance" flush actions={<AnnounceButton nodes={[node]} />}>
        <WindowTable filter={{ nodeId: node.id }} />
      </Card>
      <History node={node} />
      <CommandHint command={`millrace admin node get ${node.id}`} />
    </>
  );
}

function NodeActions({ node }: Readonly<{ node: Node }>) {
  const { id: nodeId, name } = node;
  const [deadline, setDeadline] = useState('');
  const deadlineAt = localToInstant(deadline);
  return (
    <>
      <ActionButton
        label="Drain"
        title={`Drain ${name}`}
        doing="Draining…"
        done={`${name} is draining.`}
        off={nodeActionDisabledReason('drain', node)}
        wait={deadlineAt === undefined && 'The moment is not complete.'}
        run={(client, reason) =>
          client.admin.nodes.drain({ nodeId, reason, ...(deadlineAt == null ? {} : { deadlineAt }) })
        }
      >
        <p>
          Nothing new is placed on it. {rentalsText(node.liveRentalCount)} on it now; what runs goes on and
          goes on being billed.
        </p>
        <TextField
          label="Should be empty by (optional)"
          hint="Shown with the node. Nothing is ended then."
          type="datetime-local"
          value={deadline}
          onValue={setDeadline}
        />
      </ActionButton>
      <ActionButton
        label={node.status === 'node_quarantined' ? 'Return to use' : 'Resume'}
        title={`Put ${name} back into use`}
        doing="Putting it back…"
        done={`${name} is back in use.`}
        off={nodeActionDisabledReason('resume', node)}
        run={(client, reason) => client.admin.nodes.resume({ nodeId, reason })}
      >
        <p>It takes new rentals again from now on.</p>
      </ActionButton>
      <ActionButton
        label="Quarantine"
        title={`Quarantine ${name}`}
        kind="danger"
        doing="Quarantining…"
        done={`${name} is quarantined.`}
        off={nodeActionDisabledReason('quarantine', node)}
        run={(client, reason) => client.admin.nodes.quarantine({ nodeId, reason })}
      >
        <p>
          It is kept from new work until an operator returns it. {rentalsText(node.liveRentalCount)} on it
          now; what runs goes on.
        </p>
      </ActionButton>
      <ActionButton
        label="Remove"
        title={`Remove ${name} from the fleet`}
        kind="danger"
        doing="Removing…"
        done={`${name} is out of the fleet.`}
        off={nodeActionDisabledReason('remove', node)}
        run={(client, reason) => client.admin.nodes.remove({ nodeId, reason })}
      >
        <p>It leaves the fleet for good. Its name is free again once the engine has stopped listing it.</p>
      </ActionButton>
      <WriteOffButton
        name={name}
        off={writeOffDisabledReason(node)}
        run={(client, request) => client.admin.nodes.writeOff({ nodeId, ...request })}
      >
        <p>
          For a host that never returns. {rentalsText(node.liveRentalCount)} on it: their machines and data
          are declared lost, they end, and nothing is charged after the node was last seen. The node leaves
          the fleet and its GPUs are not offered again.
        </p>
      </WriteOffButton>
    </>
  );
}

function Hardware({ node }: Readonly<{ node: Node }>) {
  const isRead = node.hardwareReadAt !== null;
  return (
    <Card title="Machine">
      <DescriptionList
        items={[
          ['Id', <Id key="id" value={node.id} what="node id" />],
          ['Where', `${node.region}, cluster ${node.clusterName}, provider ${node.providerId}`],
          node.supplierId === null
            ? null
            : [
                'Supplied by',
                <TextLink
                  key="supplier"
                  to="/operator/organisations/$organisationId"
                  params={{ organisationId: node.supplierId }}
                >
                  {node.supplierId}
                </TextLink>,
              ],
          ['Address', node.address ?? 'none known'],
          ['CPU', isRead ? `${node.cpuModel}, ${String(node.cpuCount)} cores` : 'not read yet'],
          [
            'Memory and disk',
            isRead ? `${String(node.ramGb)} GB, ${String(node.storageGb)} GB` : 'not read yet',
          ],
          [
            'Driver',
            node.driverVersion === null
              ? 'not known'
              : `${node.driverVersion}, CUDA ${node.cudaVersion ?? 'unknown'}`,
          ],
          [
            'Last seen',
            node.lastSeenAt === null ? 'never' : <RelativeTime key="seen" at={node.lastSeenAt} />,
          ],
        ]}
      />
    </Card>
  );
}

function Gpus({ node }: Readonly<{ node: Node }>) {
  const columns: readonly Column<Gpu>[] = [
    {
      head: 'GPU',
      main: true,
      cell: ({ model, gpuType, ramMb, verification }) =>
        `${model} (${gpuType}${ramMb > 0 ? `, ${String(ramMb)} MB` : ''}, ${verification})`,
    },
    { head: 'PCI address', cell: ({ pciAddress }) => <code>{pciAddress}</code> },
    {
      head: 'State',
      cell: ({ state, stateReason }) => (
        <>
          <Badge tone={state === 'present' ? 'good' : 'bad'}>{state}</Badge>
          {stateReason !== null && <span className="text-soft block text-xs">{stateReason}</span>}
        </>
      ),
    },
    {
      head: 'Sold to',
      cell: ({ allocatedTo }) => (allocatedTo === null ? 'nobody' : `rental ${allocatedTo}`),
    },
    { head: 'Act', cell: (gpu) => <MarkGpu node={node} gpu={gpu} /> },
  ];
  if (node.gpus.length === 0) return <EmptyState title="No GPUs are known yet" />;
  return <Table caption={`GPUs of ${node.name}`} columns={columns} rows={node.gpus} />;
}

function MarkGpu({ node, gpu }: Readonly<{ node: Node; gpu: Gpu }>) {
  const isFaulty = gpu.state === 'faulty';
  const label = isFaulty ? 'Put back' : 'Mark faulty';
  return (
    <ActionButton
      label={label}
      title={`${label}: GPU ${gpu.pciAddress} of ${node.name}`}
      kind={isFaulty ? 'plain' : 'danger'}
      doing="Marking…"
      done={isFaulty ? 'The GPU is sold again.' : 'The GPU is out of use.'}
      off={!isFaulty && gpu.state !== 'present' && `It is ${gpu.state} already.`}
      run={(client, reason) =>
        client.admin.nodes.markGpu({ nodeId: node.id, gpuId: gpu.id, faulty: !isFaulty, reason })
      }
    >
      <p>
        {isFaulty
          ? 'It is sold again from now on.'
          : 'Whoever rents it keeps it and goes on paying; it is not sold again until it is put back.'}
      </p>
    </ActionButton>
  );
}

const historyColumns: readonly Column<Item<'adminListNodeTransitions'>>[] = [
  { head: 'When', main: true, cell: ({ at }) => <Timestamp at={at} /> },
  {
    head: 'Change',
    cell: ({ from, to }) => (
      <span className="inline-flex flex-wrap gap-1">
        {from === null ? 'new' : <StateBadge state={from} />} to <StateBadge state={to} />
      </span>
    ),
  },
  { head: 'Reason', cell: ({ reason }) => reason },
  { head: 'By', cell: ({ actor }) => actor },
];

function History({ node }: Readonly<{ node: Node }>) {
  const pages = usePages(['admin', 'node', node.id, 'transitions', node.statusSince], (client, signal) =>
    client.admin.nodes.listTransitions({ nodeId: node.id, limit: 20 }, { signal }),
  );
  return (
    <Card title="History" flush>
      <PagedTable
        pages={pages}
        what="changes"
        caption={`What happened to ${node.name}`}
        columns={historyColumns}
        rowKey={({ seq }) => String(seq)}
        empty="Nothing has happened to it yet"
      />
    </Card>
  );
}
