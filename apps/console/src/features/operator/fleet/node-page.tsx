import type { Output, Item } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { Cpu, History as HistoryIcon } from 'lucide-react';
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

const toFleet = <TextLink to="/operator/fleet">Fleet</TextLink>;

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
            Planned to be empty by <Timestamp at={node.drainDeadlineAt} />.{' '}
            {rentalsText(node.liveRentalCount)} still running. Rentals are not terminated at that time.
          </Note>
        </div>
      )}
      <Hardware node={node} />
      <Card title="GPUs" about={countsText(countsOf([node]))} flush>
        <Gpus node={node} />
      </Card>
      <Card title="Rentals" about={`${rentalsText(node.liveRentalCount)} running on this node.`} flush>
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
        wait={deadlineAt === undefined && 'Enter a complete date and time.'}
        run={(client, reason) =>
          client.admin.nodes.drain({ nodeId, reason, ...(deadlineAt == null ? {} : { deadlineAt }) })
        }
      >
        <p>
          The node accepts no new rentals. {rentalsText(node.liveRentalCount)} running. Running rentals stay
          billed.
        </p>
        <TextField
          label="Planned to be empty by (optional)"
          hint="Shown on the node. Rentals are not terminated at that time."
          type="datetime-local"
          value={deadline}
          onValue={setDeadline}
        />
      </ActionButton>
      <ActionButton
        label={node.status === 'node_quarantined' ? 'Return to service' : 'Resume'}
        title={`Return ${name} to service`}
        doing="Returning…"
        done={`${name} is back in service.`}
        off={nodeActionDisabledReason('resume', node)}
        run={(client, reason) => client.admin.nodes.resume({ nodeId, reason })}
      >
        <p>The node accepts new rentals again.</p>
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
          The node accepts no new rentals until an operator returns it to service.{' '}
          {rentalsText(node.liveRentalCount)} running. Running rentals are not affected.
        </p>
      </ActionButton>
      <ActionButton
        label="Remove"
        title={`Remove ${name} from the fleet`}
        kind="danger"
        doing="Removing…"
        done={`${name} was removed.`}
        off={nodeActionDisabledReason('remove', node)}
        run={(client, reason) => client.admin.nodes.remove({ nodeId, reason })}
      >
        <p>Permanently removes the node. Its name is free when the engine no longer lists it.</p>
      </ActionButton>
      <WriteOffButton
        name={name}
        off={writeOffDisabledReason(node)}
        run={(client, request) => client.admin.nodes.writeOff({ nodeId, ...request })}
      >
        <p>
          For a host that will not return. {rentalsText(node.liveRentalCount)} on it: their machines and data
          are declared lost, the rentals end, and nothing is charged after the node was last seen. The node is
          removed from the fleet, and its GPUs are not offered again.
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
          ['ID', <Id key="id" value={node.id} what="node ID" />],
          ['Location', `${node.region}, cluster ${node.clusterName}, provider ${node.providerId}`],
          node.supplierId === null
            ? null
            : [
                'Supplier',
                <TextLink
                  key="supplier"
                  to="/operator/organisations/$organisationId"
                  params={{ organisationId: node.supplierId }}
                >
                  {node.supplierId}
                </TextLink>,
              ],
          ['Address', node.address ?? 'unknown'],
          ['CPU', isRead ? `${node.cpuModel}, ${String(node.cpuCount)} cores` : 'not read yet'],
          [
            'Memory and disk',
            isRead ? `${String(node.ramGb)} GB, ${String(node.storageGb)} GB` : 'not read yet',
          ],
          [
            'Driver',
            node.driverVersion === null
              ? 'unknown'
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
      head: 'Status',
      cell: ({ state, stateReason }) => (
        <>
          <Badge tone={state === 'present' ? 'good' : 'bad'}>{state}</Badge>
          {stateReason !== null && <span className="text-soft block text-xs">{stateReason}</span>}
        </>
      ),
    },
    {
      head: 'Rented by',
      cell: ({ allocatedTo }) => (allocatedTo === null ? '–' : `rental ${allocatedTo}`),
    },
    { head: 'Actions', cell: (gpu) => <MarkGpu node={node} gpu={gpu} /> },
  ];
  if (node.gpus.length === 0) return <EmptyState icon={Cpu} title="No GPUs reported yet" />;
  return <Table caption={`GPUs of ${node.name}`} columns={columns} rows={node.gpus} />;
}

function MarkGpu({ node, gpu }: Readonly<{ node: Node; gpu: Gpu }>) {
  const isFaulty = gpu.state === 'faulty';
  const label = isFaulty ? 'Return to service' : 'Mark faulty';
  return (
    <ActionButton
      label={label}
      title={`${label}: GPU ${gpu.pciAddress} of ${node.name}`}
      kind={isFaulty ? 'plain' : 'danger'}
      doing="Marking…"
      done={isFaulty ? 'The GPU is back in service.' : 'The GPU is marked as faulty.'}
      off={!isFaulty && gpu.state !== 'present' && `The GPU is already ${gpu.state}.`}
      run={(client, reason) =>
        client.admin.nodes.markGpu({ nodeId: node.id, gpuId: gpu.id, faulty: !isFaulty, reason })
      }
    >
      <p>
        {isFaulty
          ? 'The GPU can be rented again.'
          : 'The current rental keeps the GPU and stays billed. The GPU is not rented again until you return it to service.'}
      </p>
    </ActionButton>
  );
}

const historyColumns: readonly Column<Item<'adminListNodeTransitions'>>[] = [
  { head: 'Time', main: true, cell: ({ at }) => <Timestamp at={at} /> },
  {
    head: 'Change',
    cell: ({ from, to }) => (
      <span className="inline-flex flex-wrap gap-1">
        {from === null ? 'new' : <StateBadge state={from} />} to <StateBadge state={to} />
      </span>
    ),
  },
  { head: 'Reason', cell: ({ reason }) => reason },
  { head: 'Actor', cell: ({ actor }) => actor },
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
        caption={`History of ${node.name}`}
        columns={historyColumns}
        rowKey={({ seq }) => String(seq)}
        icon={HistoryIcon}
        empty="No changes yet"
        hint="Each change of the status is listed with its reason."
      />
    </Card>
  );
}
