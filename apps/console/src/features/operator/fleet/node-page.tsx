import type { Output } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { useApiQuery } from '../../../api/queries.ts';
import { StateBadge } from '../../../ui/badge.tsx';
import { CommandHint, CopyButton } from '../../../ui/copy.tsx';
import { Card, DescriptionList, PageHeader } from '../../../ui/page.tsx';
import { Note } from '../../../ui/states.tsx';
import { QueryPage } from '../../../ui/query-page.tsx';
import { RelativeTime, Timestamp } from '../../../ui/time.tsx';
import { countsOf, countsText } from './fleet-layout.ts';
import { AnnounceButton, WindowTable } from '../maintenance/maintenance-windows.tsx';
import { AnnouncedMaintenance } from '../maintenance/announced-maintenance.tsx';
import { NodeGpus } from './node-gpus.tsx';
import { NodeHistory } from './node-history.tsx';
import { OrganisationLink } from '../common/organisation-name.tsx';
import { rentalsText } from './node-actions.ts';
import { NodeActionsCard } from './node-actions-card.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { RentalTable } from '../rentals/rental-table.tsx';
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
      <NodeActionsCard node={node} />
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
