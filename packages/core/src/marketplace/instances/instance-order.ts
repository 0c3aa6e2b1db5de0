import type { Body, Contract } from '@millrace/contract';
import { timesUsd, type NanoUsd } from '@millrace/platform/money';
import type { ClusterRecord, FleetGpuType, NodeRecord } from '../../fleet/index.ts';
import { requireSshKeyIds, requireUserData, type InstanceOrder } from '../../rentals/index.ts';
import { supplierRate, type ListedMachine } from '../../suppliers/index.ts';
import { requireMaxUsd } from '../../volumes/index.ts';
import { resolveImage, tenantImagesOf } from './resolve-image.ts';

/** Converts a create request to an order of rentals. Pure. */

export type InstanceBody = Body<Contract['operations']['createMarketplaceInstance']>;

/** A machine for rent, with everything an order depends on. */
export interface RentableMachine {
  readonly listed: ListedMachine;
  readonly node: NodeRecord & { readonly gpuType: FleetGpuType };
  readonly cluster: Pick<ClusterRecord, 'settings'>;
}

export function toInstanceOrder(body: InstanceBody, machine: RentableMachine, name: string): InstanceOrder {
  const { listed, node, cluster } = machine;
  const { image } = body;
  return {
    kind: 'instance',
    region: node.region,
    gpuType: node.gpuType,
    connectionType: node.connectionType,
    gpusPerNode: body.gpu_count,
    nodeCount: 1,
    cuda: null,
    termType: 'on-demand',
    termPeriodDays: null,
    discountPercentage: 0,
    convertOnExpiry: false,
    monitoring: false,
    customPorts: image === undefined ? [] : portsOf(image),
    name: body.name ?? null,
    label: null,
    tags: body.tags ?? {},
    image: image === undefined ? null : resolveImage(image, tenantImagesOf(cluster.settings)),
    userData: requireUserData(body.user_data, 'user_data'),
    sshKeys: requireSshKeyIds(body.ssh_key_ids),
    ttlSeconds: body.ttl_seconds ?? null,
    maxUsd: body.max_usd === undefined ? null : requireMaxUsd(body.max_usd, 'max_usd'),
    idle: body.idle ?? null,
    machine: {
      nodeId: node.id,
      providerId: node.providerId,
      pricePerGpuHour: listed.pricePerGpuHour,
      supplier: supplierShareOf(listed, body.gpu_count),
      publicIdentity: { instanceId: name, clusterName: listed.clusterName, nodeName: node.id },
    },
  };
}

/** A request may set `port`, `ports` or both. */
function portsOf({ port, ports = [] }: NonNullable<InstanceBody['image']>): readonly number[] {
  return [...new Set(port === undefined ? ports : [port, ...ports])];
}

/** Test mode is free, so the supplier gets no share. */
function supplierShareOf(
  { supplier, mode, pricePerGpuHour }: ListedMachine,
  gpuCount: number,
): { readonly orgId: NonNullable<ListedMachine['supplier']>['orgId']; readonly ratePerHour: NanoUsd } | null {
  if (supplier === null || mode === 'test') return null;
  const rate = timesUsd(pricePerGpuHour, BigInt(gpuCount));
  return { orgId: supplier.orgId, ratePerHour: supplierRate(rate, supplier.feePpm) };
}
