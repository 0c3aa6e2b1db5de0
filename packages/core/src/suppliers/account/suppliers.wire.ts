import type { ResponseBody, Contract } from '@millrace/contract';
import { toPercentage } from '@millrace/platform/money';
import { gpuVerification, type NodeRecord } from '../../fleet/index.ts';
import type { JoinToken } from './join-tokens.ts';
import { toWireReliability } from '../reliability/reliability.wire.ts';
import type { MachineReliability } from '../reliability/reliability.store.ts';
import { reasonNotForRent, type SupplierMachine } from '../machines/machines.ts';
import type { Supplier } from './suppliers.ts';

/** Suppliers, their machines and their tokens as answers. */

type Operations = Contract['operations'];
type WireSupplier = ResponseBody<Operations['supplierGetAccount']>;
type WireMachine = ResponseBody<Operations['supplierGetMachine']>;
type WireToken = ResponseBody<Operations['supplierListJoinTokens']>['items'][number];

/** What is said of a GPU model that rentals do not offer. */
const UNKNOWN = 'unknown';

export function toWireSupplier(supplier: Supplier): WireSupplier {
  return {
    id: supplier.id,
    organisationId: supplier.orgId,
    name: supplier.name,
    about: supplier.about,
    status: supplier.status,
    statusReason: supplier.statusReason,
    feePercentage: toPercentage(supplier.feePpm),
    appliedAt: supplier.appliedAt.toISOString(),
    approvedAt: supplier.approvedAt?.toISOString() ?? null,
  };
}

export function toWireMachine(
  machine: SupplierMachine,
  node: NodeRecord,
  trust: MachineReliability | null,
): WireMachine {
  const notShownBecause = reasonNotForRent(machine);
  return {
    id: machine.nodeId,
    name: machine.name,
    supplierId: machine.supplierId,
    clusterName: machine.clusterName,
    region: machine.region,
    status: node.status,
    statusReason: node.statusReason,
    approval: machine.approval,
    approvalReason: machine.approvalReason,
    listed: machine.listed,
    shown: notShownBecause === null,
    notShownBecause,
    pricePerGpuHourNanoUsd: machine.pricePerGpuHour?.toString() ?? null,
    gpus: node.gpus.map((gpu) => ({
      id: gpu.id,
      model: gpu.model,
      gpuType: gpu.gpuType ?? UNKNOWN,
      ramMb: gpu.ramMb ?? 0,
      pciAddress: gpu.pciAddress,
      numaNode: gpu.numaNode,
      deviceUuid: gpu.deviceUuid,
      state: gpu.state,
      stateReason: gpu.stateReason,
      verification: gpuVerification,
    })),
    gpusRented: node.gpus.filter((gpu) => gpu.allocatedTo !== null).length,
    drainedAt: machine.drainedAt?.toISOString() ?? null,
    joinedAt: machine.joinedAt.toISOString(),
    lastSeenAt: node.lastSeenAt?.toISOString() ?? null,
    reliability: trust === null ? null : toWireReliability(trust),
  };
}

export function toWireJoinToken(token: JoinToken): WireToken {
  return {
    id: token.id,
    description: token.description,
    clusterName: token.clusterName,
    region: token.region,
    maxMachines: token.maxMachines,
    usedMachines: token.usedMachines,
    expiresAt: token.expiresAt.toISOString(),
    revokedAt: token.revokedAt?.toISOString() ?? null,
    createdAt: token.createdAt.toISOString(),
  };
}
