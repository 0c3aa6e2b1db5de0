import type { Item, Output } from '@millrace/sdk';
import { Cpu } from 'lucide-react';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge } from '../../../ui/badge.tsx';
import { CopyButton } from '../../../ui/copy.tsx';
import { TextLink } from '../../../ui/link.tsx';
import { EmptyState } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { rentalAnchor, rentalName, rentalOfGpu } from '../rentals/rental-names.ts';

type Node = Output<'adminGetNode'>;
type Gpu = Node['gpus'][number];
type NodeRental = Item<'adminListRentals'>;

function useNodeRentals(nodeId: string) {
  return useApiQuery(
    ['admin', 'rentals', 'of-node', nodeId],
    (client, signal) => client.admin.rentals.list({ nodeId, limit: 200 }, { signal }).all(),
    { refetchMs: 5_000 },
  );
}

/** GPUs of a node, numbered as tenants see them, with the rental that uses each. */
export function NodeGpus({ node }: Readonly<{ node: Node }>) {
  const rentals = useNodeRentals(node.id);
  const rows = node.gpus.map((gpu, index) => ({ ...gpu, number: index }));
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      head: 'GPU',
      main: true,
      cell: ({ number, model, ramMb, pciAddress, deviceUuid }) => (
        <>
          GPU {number}: {model}
          <span className="text-soft flex flex-wrap items-center gap-x-1 text-xs font-normal">
            {ramMb > 0 && `${ramMb.toLocaleString()} MB,`} PCI <code>{pciAddress}</code>
            {deviceUuid !== null && (
              <CopyButton text={deviceUuid} what={`device UUID of GPU ${String(number)}`} />
            )}
          </span>
        </>
      ),
    },
    {
      head: 'Sold as',
      cell: ({ gpuType, verification }) => (
        <>
          {gpuType === 'unknown' ? 'not sold' : gpuType.toUpperCase()}
          <span className="text-soft block text-xs">{verification}</span>
        </>
      ),
    },
    {
      head: 'Status',
      cell: ({ state, stateReason }) => (
        <>
          <GpuState state={state} isOffline={node.status === 'node_offline'} />
          {stateReason !== null && <span className="text-soft block text-xs">{stateReason}</span>}
        </>
      ),
    },
    { head: 'Rented by', cell: (gpu) => <RentedBy gpu={gpu} node={node} rentals={rentals.data} /> },
    { head: 'Actions', cell: (gpu) => <MarkGpu node={node} gpu={gpu} /> },
  ];
  if (rows.length === 0) return <EmptyState icon={Cpu} title="No GPUs reported yet" />;
  return <Table caption={`GPUs of ${node.name}`} columns={columns} rows={rows} />;
}

/** A node that is offline does not report its GPUs. */
function GpuState({ state, isOffline }: Readonly<{ state: Gpu['state']; isOffline: boolean }>) {
  if (state !== 'present') return <Badge tone="bad">{state}</Badge>;
  return isOffline ? <Badge>offline</Badge> : <Badge tone="good">present</Badge>;
}

interface RentedByProps {
  readonly gpu: Gpu;
  readonly node: Node;
  /** Undefined while loading. */
  readonly rentals: readonly NodeRental[] | undefined;
}

function RentedBy({ gpu, node, rentals }: RentedByProps) {
  if (gpu.allocatedTo === null) return 'not rented';
  const rental = rentalOfGpu(gpu, rentals ?? []);
  if (rental === undefined) {
    return (
      <span className="inline-flex items-center gap-1">
        {rentals === undefined ? 'a rental' : 'a rental that is being released'}
        <CopyButton text={gpu.allocatedTo} what="external ID of the rental" />
      </span>
    );
  }
  return (
    <>
      <TextLink
        to="/operator/nodes/$nodeId"
        params={{ nodeId: node.id }}
        hash={rentalAnchor(rental.id)}
        className="break-all"
      >
        {rentalName(rental)}
      </TextLink>
      <span className="text-soft block text-xs">{rental.organisationName}</span>
    </>
  );
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
