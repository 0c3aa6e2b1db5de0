import type { ResponseBody, Contract } from '@millrace/contract';
import { gpuVerification, type NodeRecord } from '../../fleet/index.ts';
import { toWireReliability } from '../reliability/reliability.wire.ts';
import type { MachineReliability } from '../reliability/reliability.store.ts';
import { reasonNotForRent, type SupplierMachine } from './machines.ts';

type WireMachine = ResponseBody<Contract['operations']['supplierGetMachine']>;

const UNKNOWN = 'unknown';

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
