import type { Output } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState, type ReactNode } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { StateBadge } from '../../../ui/badge.tsx';
import { CommandHint, CopyButton } from '../../../ui/copy.tsx';
import { diskText, memoryText } from '../../../ui/logic/size-text.ts';
import { Card, DescriptionList, PageHeader } from '../../../ui/page.tsx';
import { Note } from '../../../ui/states.tsx';
import { QueryPage } from '../../../ui/query-page.tsx';
import { RelativeTime, Timestamp } from '../../../ui/time.tsx';
import { countsOf, countsText } from './fleet-layout.ts';
import { AnnounceButton, WindowTable } from '../maintenance/maintenance-windows.tsx';
import { AnnouncedMaintenance, useAnnouncedMaintenance } from '../maintenance/announced-maintenance.tsx';
import { NodeGpus } from './node-gpus.tsx';
import { NodeHistory } from './node-history.tsx';
import { OrganisationLink } from '../common/organisation-name.tsx';
import {
  nodeActionDisabledReason,
  nodeActionEffects,
  rentalsText,
  writeOffDisabledReason,
  type NodeAction,
} from './node-actions.ts';
import { WriteOffButton } from '../common/write-off-button.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { localToInstant } from '../common/local-time.ts';
import { TextField } from '../../../ui/field.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { RentalTable } from '../rentals/rental-table.tsx';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/nodes/$nodeId');

const toFleet = <TextLink to="/operator/fleet">Fleet</TextLink>;

type Node = Output<'adminGetNode'>;

interface NodeProps {
  readonly node: Node;
}

export const NodePage = operatorPage('Node', NodeLoaded);

function NodeLoaded() {
  const { nodeId } = route.useParams();
  const node = useApiQuery(
    ['admin', 'node', nodeId],
    (client, signal) => client.admin.nodes.get({ nodeId }, { signal }),
    { refetchMs: 2_000 },
  );
  const windows = useAnnouncedMaintenance(nodeId);
  // The announcement is above everything else, so the page would move if it came later.
  const query = windows === undefined ? { ...node, data: undefined } : node;
  return (
    <QueryPage query={query} title="Node" what="node" back={toFleet}>
      {(loaded) => (
        <NodeDetail
          node={loaded}
          announcement={<AnnouncedMaintenance nodeId={nodeId} windows={windows ?? []} />}
        />
      )}
    </QueryPage>
  );
}

function NodeDetail({ node, announcement }: NodeProps & { readonly announcement: ReactNode }) {
  const { id, name } = node;
  const names = useMemo(() => new Map([[id, name]]), [id, name]);
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
      />
      {node.drainDeadlineAt !== null && (
        <div className="mb-4">
          <Note tone="warn">
            Planned to be empty by <Timestamp at={node.drainDeadlineAt} />.{' '}
            {rentalsText(node.liveRentalCount)} still running. Rentals are not terminated at that time.
          </Note>
        </div>
      )}
      {announcement}
      <NodeActionsCard node={node} />
      <Hardware node={node} />
      <Card
        title="GPUs"
        about={`${countsText(countsOf([node]))}. Unverified: the engine reports the model, and no computation has tested it.`}
        flush
      >
        <NodeGpus node={node} />
      </Card>
      <Card title="Rentals" about={`${rentalsText(node.liveRentalCount)} running on this node.`} flush>
        <RentalTable filter={{ nodeId: node.id }} empty="No rentals on this node" />
      </Card>
      <Card title="Maintenance" flush actions={<AnnounceButton nodes={[node]} />}>
        <WindowTable filter={{ nodeId: node.id }} names={names} />
      </Card>
      <NodeHistory node={node} />
      <CommandHint command={`millrace admin node get ${node.id}`} />
    </>
  );
}

/** Each action with its effect on running rentals and their billing, and why it is not possible now. */
function NodeActionsCard({ node }: NodeProps) {
  return (
    <Card title="Actions">
      <ul className="flex flex-col gap-3">
        <Row action="drain" off={nodeActionDisabledReason('drain', node)}>
          <DrainButton node={node} />
        </Row>
        <Row action="resume" off={nodeActionDisabledReason('resume', node)}>
          <ResumeButton node={node} />
        </Row>
        <Row action="quarantine" off={nodeActionDisabledReason('quarantine', node)}>
          <QuarantineButton node={node} />
        </Row>
        <Row action="remove" off={nodeActionDisabledReason('remove', node)}>
          <RemoveButton node={node} />
        </Row>
        <Row action="write-off" off={writeOffDisabledReason(node)}>
          <WriteOffNode node={node} />
        </Row>
      </ul>
    </Card>
  );
}

interface RowProps {
  readonly action: NodeAction | 'write-off';
  readonly off: string | false;
  readonly children: ReactNode;
}

function Row({ action, off, children }: RowProps) {
  return (
    <li className="grid items-start gap-x-4 gap-y-1 sm:grid-cols-[9rem_1fr]">
      <div>{children}</div>
      <div className="text-soft max-w-prose text-pretty">
        <p>{nodeActionEffects[action]}</p>
        {off !== false && <p className="text-xs">Not possible now: {off}</p>}
      </div>
    </li>
  );
}

function DrainButton({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  const [deadline, setDeadline] = useState('');
  const deadlineAt = localToInstant(deadline);
  return (
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
        {nodeActionEffects.drain} {rentalsText(node.liveRentalCount)} running.
      </p>
      <TextField
        label="Planned to be empty by (optional)"
        hint="Shown on the node. Rentals are not terminated at that time."
        type="datetime-local"
        value={deadline}
        onValue={setDeadline}
      />
    </ActionButton>
  );
}

function ResumeButton({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  return (
    <ActionButton
      label={node.status === 'node_quarantined' ? 'Return to service' : 'Resume'}
      title={`Return ${name} to service`}
      doing="Returning…"
      done={`${name} is back in service.`}
      off={nodeActionDisabledReason('resume', node)}
      run={(client, reason) => client.admin.nodes.resume({ nodeId, reason })}
    >
      <p>{nodeActionEffects.resume}</p>
    </ActionButton>
  );
}

function QuarantineButton({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  return (
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
        {nodeActionEffects.quarantine} {rentalsText(node.liveRentalCount)} running.
      </p>
    </ActionButton>
  );
}

function RemoveButton({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  return (
    <ActionButton
      label="Remove"
      title={`Remove ${name} from the fleet`}
      kind="danger"
      doing="Removing…"
      done={`${name} was removed.`}
      off={nodeActionDisabledReason('remove', node)}
      run={(client, reason) => client.admin.nodes.remove({ nodeId, reason })}
    >
      <p>{nodeActionEffects.remove} Its name is free when the engine no longer lists it.</p>
    </ActionButton>
  );
}

function WriteOffNode({ node }: NodeProps) {
  const { id: nodeId, name } = node;
  return (
    <WriteOffButton
      name={name}
      off={writeOffDisabledReason(node)}
      run={(client, request) => client.admin.nodes.writeOff({ nodeId, ...request })}
    >
      <p>
        {nodeActionEffects['write-off']} {rentalsText(node.liveRentalCount)} on it. The node is removed from
        the fleet, and its GPUs are not offered again.
      </p>
    </WriteOffButton>
  );
}

function Hardware({ node }: NodeProps) {
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
              <TextLink to="/operator/fleet" search={{ find: node.clusterName }} className="break-all">
                {node.clusterName}
              </TextLink>
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
            isRead ? `${memoryText(node.ramGb)}, ${diskText(node.storageGb)}` : 'not read yet',
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
