import type { ResponseBody, Contract, MachineState } from '@millrace/contract';
import { machineReadyState } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import type { NodeId, RentalId } from '@millrace/platform/ids';
import { toNearestUsdNumber } from '@millrace/platform/money';
import { createNetGuard } from '@millrace/platform/net';
import type { ListedMachine } from '../../suppliers/index.ts';

/** Builds the public record of a marketplace machine. Pure. */

export type MachineRecord = ResponseBody<
  Contract['operations']['listMarketplaceMachines']
>['instances'][number];

export interface GpuGroup {
  readonly model: string;
  readonly ramMb: number;
  readonly count: number;
}

/** A rental on the machine. */
export interface Occupant {
  readonly rentalId: RentalId;
  readonly status: string;
  readonly gpus: readonly GpuGroup[];
}

/** The facts of a node without supplier and price. */
export interface MachineFacts {
  readonly nodeId: NodeId;
  readonly status: MachineState;
  readonly isOpen: boolean;
  readonly address: string | null;
  readonly cpuModel: string;
  /** Threads. */
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly storageGb: number;
  readonly formFactor: string | null;
  readonly gpus: readonly GpuGroup[];
  readonly gpusTotal: number;
  readonly gpusFree: number;
  readonly connectionType: string;
  readonly portsFree: number;
  readonly measured: SelfTestMeasurements | null;
  readonly occupants: readonly Occupant[];
}

export interface SelfTestMeasurements {
  readonly downMbps: number | null;
  readonly upMbps: number | null;
  readonly gpuClockMhz: number | null;
  readonly gpuTflops: number | null;
}

export interface ListedRecord {
  readonly mode: Mode;
  readonly record: MachineRecord;
}

const publicNetworkGuard = createNetGuard({ allowedNetworks: [] });

/**
 * Returns null for machines that are not listed: hardware never read, removed, or closed. Offline and quarantined
 * machines stay listed with their state, because their tenants look for them.
 */
export function toListedRecord(facts: MachineFacts, listed: ListedMachine): ListedRecord | null {
  const { status } = facts;
  const isAway = status === 'node_offline' || status === 'node_quarantined';
  if (status === 'node_registering' || status === 'node_removed' || !(facts.isOpen || isAway)) return null;
  return {
    mode: listed.mode,
    record: {
      id: facts.nodeId,
      status,
      hardware: {
        cpus: [
          {
            hardware_type: 'cpu',
            model: facts.cpuModel,
            cores: facts.cpuCount,
            virtual_cores: facts.cpuCount,
          },
        ],
        gpus: facts.gpus.flatMap((group) => gpusOf(group, facts)),
        storage: [{ hardware_type: 'storage', capacity: facts.storageGb }],
        ram: [{ hardware_type: 'ram', capacity: facts.ramMb }],
      },
      instances: facts.occupants.map(({ rentalId, status: state, gpus }) => ({
        id: rentalId,
        status: state,
        hardware: gpus.flatMap(({ model, ramMb, count }) =>
          Array.from({ length: count }, () => ({
            gpu: { hardware_type: 'gpu' as const, model, ram: ramMb },
          })),
        ),
      })),
      location: { region: listed.region },
      network: networkOf(facts),
      gpus_total: facts.gpusTotal,
      gpus_reserved: facts.gpusTotal - facts.gpusFree,
      has_persistent_storage: facts.storageGb > 0,
      supplier_id: listed.supplier?.id ?? 'platform',
      pricing: {
        price: { amount: toNearestUsdNumber(listed.pricePerGpuHour), period: 'hourly', agent: 'platform' },
      },
      reserved: facts.gpusFree === 0,
      cluster_name: listed.clusterName,
    },
  };
}

function gpusOf({ model, ramMb, count }: GpuGroup, { measured, formFactor }: MachineFacts) {
  const gpu = {
    hardware_type: 'gpu' as const,
    model,
    clock_speed: measured?.gpuClockMhz ?? 0,
    compute_power: measured?.gpuTflops ?? 0,
    ram: ramMb,
    interface: formFactor ?? 'pcie',
  };
  return Array.from({ length: count }, () => gpu);
}

function networkOf(facts: MachineFacts): MachineRecord['network'] {
  const { address, measured, connectionType, portsFree } = facts;
  return {
    public_ip: address !== null && publicNetworkGuard.problemWith(address) === null,
    ...(measured?.downMbps == null ? {} : { bandwidth_mbps_down: measured.downMbps }),
    ...(measured?.upMbps == null ? {} : { bandwidth_mbps_up: measured.upMbps }),
    interconnect: connectionType,
    ports_available: portsFree,
  };
}

/** Only a ready machine accepts rentals. */
export function gpusAvailable(record: MachineRecord): number {
  return record.status === machineReadyState ? record.gpus_total - record.gpus_reserved : 0;
}
