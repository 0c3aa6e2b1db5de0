import type { ResponseBody, Contract } from '@millrace/contract';
import { divideWithRemainder } from '@millrace/platform/money';
import type { ClusterRecord, ProviderRecord } from '../inventory/clusters.ts';
import type { NodeTransition } from './fleet-admin.store.ts';
import type { WindowRecord } from '../maintenance/maintenance.store.ts';
import type { NodeGpu, NodeRecord } from '../inventory/nodes.ts';

/** Converts fleet records to responses for operators. */

type Operations = Contract['operations'];
type WireProvider = ResponseBody<Operations['adminUpdateProvider']>;
type WireCluster = ResponseBody<Operations['adminCreateCluster']>;
type WireNode = ResponseBody<Operations['adminGetNode']>;
type WireTransition = ResponseBody<Operations['adminListNodeTransitions']>['items'][number];
type WireWindow = ResponseBody<Operations['adminCreateMaintenanceWindow']>;

/** Shown for hardware that has not been read yet. */
const UNKNOWN = 'unknown';
const MB_PER_GB = 1_024;

export function toWireProvider(provider: ProviderRecord): WireProvider {
  return { ...provider, regions: provider.regions.map((region) => ({ ...region })) };
}

export function toWireCluster(cluster: ClusterRecord): WireCluster {
  return {
    id: cluster.id,
    name: cluster.name,
    providerId: cluster.providerId,
    region: cluster.region,
    driver: cluster.driver,
    endpoint: cluster.endpoint,
    credentialRef: cluster.credentialRef,
    settings: { ...cluster.settings },
    offer: cluster.offer,
    connectionType: cluster.connectionType,
    origin: cluster.origin,
    status: cluster.status,
    statusReason: cluster.statusReason,
    statusSince: cluster.statusSince.toISOString(),
    engine: cluster.engine,
    lastSeenAt: cluster.lastSeenAt?.toISOString() ?? null,
    nodeCount: cluster.nodeCount,
    createdAt: cluster.createdAt.toISOString(),
  };
}

export function toWireNode(node: NodeRecord): WireNode {
  return {
    id: node.id,
    name: node.name,
    clusterId: node.clusterId,
    clusterName: node.clusterName,
    providerId: node.providerId,
    region: node.region,
    supplierId: node.supplierOrgId,
    status: node.status,
    statusReason: node.statusReason,
    statusSince: node.statusSince.toISOString(),
    drainDeadlineAt: node.drainDeadlineAt?.toISOString() ?? null,
    address: node.address,
    hardwareReadAt: node.hardwareReadAt?.toISOString() ?? null,
    cpuModel: node.cpuModel ?? UNKNOWN,
    cpuCount: node.cpuCount ?? 0,
    ramGb: divideWithRemainder(node.ramMb ?? 0, MB_PER_GB)[0],
    storageGb: node.storageGb ?? 0,
    driverVersion: node.driverVersion,
    cudaVersion: node.cudaVersion,
    gpus: node.gpus.map(toWireGpu),
    liveRentalCount: node.liveAllocations,
    lastSeenAt: node.lastSeenAt?.toISOString() ?? null,
  };
}

/** Nothing proves GPUs yet: the only evidence comes from the host and from an image that its supplier may control. */
export const gpuVerification = 'unverified' as const;

function toWireGpu(gpu: NodeGpu): WireNode['gpus'][number] {
  return {
    id: gpu.id,
    model: gpu.model,
    gpuType: gpu.gpuType ?? UNKNOWN,
    ramMb: gpu.ramMb ?? 0,
    pciAddress: gpu.pciAddress,
    numaNode: gpu.numaNode,
    allocatedTo: gpu.allocatedTo,
    deviceUuid: gpu.deviceUuid,
    state: gpu.state,
    stateReason: gpu.stateReason,
    verification: gpuVerification,
  };
}

export function toWireTransition({ seq, from, to, reason, actor, at }: NodeTransition): WireTransition {
  return { seq, from, to, reason, actor, at: at.toISOString() };
}

export function toWireWindow(window: WindowRecord): WireWindow {
  return {
    id: window.id,
    nodeIds: [...window.nodeIds],
    startsAt: window.startsAt.toISOString(),
    endsAt: window.endsAt.toISOString(),
    summary: window.summary,
    status: window.status,
    drainsAt: window.drainsAt.toISOString(),
    endedAt: window.endedAt?.toISOString() ?? null,
    affectedRentalCount: window.notifiedAllocations,
    createdAt: window.createdAt.toISOString(),
  };
}
