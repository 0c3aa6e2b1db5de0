import type { Output } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { StateBadge } from '../../../ui/badge.tsx';
import { CommandHint, CopyButton } from '../../../ui/copy.tsx';
import { TextField } from '../../../ui/field.tsx';
import { Card, DescriptionList, PageHeader } from '../../../ui/page.tsx';
import { Note } from '../../../ui/states.tsx';
import { QueryPage } from '../../../ui/query-page.tsx';
import { RelativeTime, Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { countsOf, countsText } from './fleet-layout.ts';
import { localToInstant } from '../common/local-time.ts';
import { AnnounceButton, WindowTable } from '../maintenance/maintenance-windows.tsx';
import { AnnouncedMaintenance } from '../maintenance/announced-maintenance.tsx';
import { NodeGpus } from './node-gpus.tsx';
import { NodeHistory } from './node-history.tsx';
import { OrganisationLink } from '../common/organisation-name.tsx';
import { nodeActionDisabledReason, rentalsText, writeOffDisabledReason } from './node-actions.ts';
import { operatorPage } from '../common/operator-page.tsx';
import { RentalTable } from '../rentals/rental-table.tsx';
import { WriteOffButton } from '../common/write-off-button.tsx';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/nodes/$nodeId');

const toFleet = <TextLink to="/operator/fleet">Fleet</TextLink>;

type Node = Output<'adminGetNode'>;

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
      <AnnouncedMaintenance nodeId={node.id} />
      <Hardware node={node} />
      <Card title="GPUs" about={countsText(countsOf([node]))} flush>
        <NodeGpus node={node} />
      </Card>
      <Card title="Rentals" about={`${rentalsText(node.liveRentalCount)} running on this node.`} flush>
        <RentalTable filter={{ nodeId: node.id }} empty="No rentals on this node" />
      </Card>
      <Card title="Maintenance" flush actions={<AnnounceButton nodes={[node]} />}>
        <WindowTable filter={{ nodeId: node.id }} />
      </Card>
      <NodeHistory node={node} />
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
          [
            'Name',
            <span key="name" className="inline-flex items-center gap-1">
              {node.name} <CopyButton text={node.id} what="node ID" />
            </span>,
          ],
          ['Region', node.region],
          [
            'Cluster',
            <span key="cluster" className="inline-flex max-w-full items-center gap-1">
              <span className="break-all">{node.clusterName}</span>
              <CopyButton text={node.clusterId} what="cluster ID" />
            </span>,
          ],
          [
            'Provider',
            <TextLink key="provider" to="/operator/providers">
              {node.providerId}
            </TextLink>,
          ],
          node.supplierId === null
            ? null
            : ['Supplier', <OrganisationLink key="supplier" id={node.supplierId} />],
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
