import type { Db } from '@millrace/platform/db';
import type { ClusterId, NodeId, OrgId } from '@millrace/platform/ids';
import { nanoUsd, ppm, roundExact, shareOf, subtractUsd, timesUsd } from '@millrace/platform/money';
import type { WireIdAllocator } from '@millrace/platform/wire-ids';
import { listNodes, type NodeRecord } from '../fleet/index.ts';
import type { InstanceOrder } from './order/order.ts';
import { createRental } from './order/accept-order.service.ts';
import type { RentalHarness, Tenant } from './model/rental.fixture.ts';
import type { Rental } from './model/rental.ts';

/** Instance orders as the marketplace creates them from a machine in its listing. */

/** Kinds differ only in attempts, machines per attempt (bare metal: a gang of two) and whether ports are opened one by one. */
export const kinds = [
  { kind: 'virtual-machine', attempts: 2, machines: 1, opensPorts: true, engine: 'live' },
  { kind: 'instance', attempts: 1, machines: 1, opensPorts: true, engine: 'market' },
  { kind: 'bare-metal', attempts: 2, machines: 2, opensPorts: false, engine: 'metal' },
] as const;
export type Kind = (typeof kinds)[number]['kind'];

/** Accepts an order of the kind in live mode, after polling all engines. */
export async function rentAs(
  harness: Pick<RentalHarness, 'watch' | 'rent' | 'rentInstance' | 'rentMetal'>,
  kind: Kind,
  tenant: Tenant,
  request: Pick<InstanceRequest, 'gpuCount' | 'customPorts'> = {},
): Promise<Rental> {
  await harness.watch();
  if (kind === 'instance') return harness.rentInstance(tenant, request);
  if (kind === 'bare-metal') return harness.rentMetal(tenant, { gpuCount: 16 });
  const { gpuCount = 1, customPorts = [] } = request;
  return harness.rent(tenant, 'live', { gpuCount, customPorts: [...customPorts] });
}

/** Fields of an instance order that a test may set; the rest comes from `MARKETPLACE`. */
export interface InstanceRequest {
  readonly gpuCount?: number;
  readonly customPorts?: readonly number[];
  readonly ttlSeconds?: number;
  readonly userData?: string;
  readonly image?: string;
  /** Default: the node with the most free GPUs. */
  readonly nodeId?: NodeId;
  /** False: the operator owns the machine. */
  readonly supplied?: boolean;
}

/** The price leaves a remainder with every fee, so that tests cover rounding. */
export const MARKETPLACE = {
  pricePerGpuHour: nanoUsd(2_499_999_999n),
  feePpm: ppm(150_000),
  clusterName: 'market-1',
} as const;

export function createInstanceRenter(
  db: Db,
  wireIds: WireIdAllocator,
  market: { readonly clusterId: ClusterId; readonly supplierOrgId: OrgId },
): (tenant: Tenant, request?: InstanceRequest) => Promise<Rental> {
  return async (tenant, request = {}) => {
    const wireId = await wireIds.next();
    const nodes = await listNodes(db, { clusterId: market.clusterId }, { limit: 100, after: null });
    const [roomiest] = nodes.toSorted((one, other) => freeOf(other) - freeOf(one));
    const node = nodes.find(({ id }) => id === request.nodeId) ?? roomiest;
    if (node === undefined) throw new Error('The marketplace cluster has no nodes.');
    return db.transaction({ name: 'create instance', isolation: 'read committed' }, (tx) =>
      createRental(
        tx,
        tenant.call('live'),
        instanceOrder(node, request, market.supplierOrgId, wireId),
        wireId,
      ),
    );
  };
}

const freeOf = ({ gpus }: NodeRecord): number =>
  gpus.filter(({ allocatedTo }) => allocatedTo === null).length;

function instanceOrder(
  node: NodeRecord,
  request: InstanceRequest,
  supplierOrgId: OrgId,
  wireId: number,
): InstanceOrder {
  const { gpuCount = 1, customPorts = [], supplied = true } = request;
  const { pricePerGpuHour, feePpm, clusterName } = MARKETPLACE;
  const rate = timesUsd(pricePerGpuHour, BigInt(gpuCount));
  const ratePerHour = subtractUsd(rate, roundExact(shareOf(rate, feePpm), 'up'));
  return {
    kind: 'instance',
    region: node.region,
    gpuType: node.gpuType ?? 'other',
    connectionType: node.connectionType,
    gpusPerNode: gpuCount,
    nodeCount: 1,
    cuda: null,
    termType: 'on-demand',
    termPeriodDays: null,
    discountPercentage: 0,
    convertOnExpiry: false,
    monitoring: false,
    customPorts,
    name: null,
    label: null,
    tags: {},
    image: request.image ?? null,
    userData: request.userData ?? null,
    sshKeys: 'all',
    ttlSeconds: request.ttlSeconds ?? null,
    maxUsd: null,
    idle: null,
    machine: {
      nodeId: node.id,
      providerId: node.providerId,
      pricePerGpuHour,
      supplier: supplied ? { orgId: supplierOrgId, ratePerHour } : null,
      publicIdentity: { instanceId: `quiet-test-otter-${wireId}`, clusterName, nodeName: node.id },
    },
  };
}
