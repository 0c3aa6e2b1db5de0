import { createHash } from 'node:crypto';
import type { Inventory, InventoryGpu, InventoryNode, NodeHardware } from '@millrace/compute';
import type { GpuType } from '@millrace/contract';
import { parseCudaVersion, findGpuModel } from './gpu-models.ts';
import { boundedReason, boundedText, type GpuFormFactor, type ConnectionType } from './nodes.ts';

/** Validates and converts inventories. An engine may be faulty or hostile, so implausible reports change nothing. */

export interface ReportedGpu {
  readonly pciAddress: string;
  readonly deviceUuid: string | null;
  readonly model: string;
  readonly gpuType: GpuType | null;
  readonly formFactor: GpuFormFactor | null;
  readonly ramMb: number | null;
  readonly numaNode: number | null;
}

export interface ReportedHardware {
  readonly address: string | null;
  readonly cpuModel: string;
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly storageGb: number;
  readonly driverVersion: string | null;
  readonly cudaVersion: string | null;
  readonly cuda: number | null;
  readonly fabric: string | null;
  readonly connectionType: ConnectionType;
  readonly gpus: readonly ReportedGpu[];
  /** SHA-256 of all fields above, to detect changes. */
  readonly digest: string;
}

export interface ReportedNode {
  readonly name: string;
  /** Null if the node is unreachable or its report is implausible. */
  readonly hardware: ReportedHardware | null;
  /** Why `hardware` is null. */
  readonly problem: string;
  readonly implausible: boolean;
}

export type CheckedInventory =
  | {
      readonly ok: true;
      readonly engine: string;
      readonly nodes: readonly ReportedNode[];
      /** Nodes that were skipped because of an invalid name. */
      readonly unnamed: number;
    }
  | { readonly ok: false; readonly problem: string };

/** Values from the cluster's settings, used where the engine reports none. */
export interface ClusterDefaults {
  readonly connectionType: ConnectionType;
  readonly fabric: string | null;
  /** For nodes whose GPUs report no CUDA: the newest CUDA of the cluster's images. */
  readonly cudaVersion: string | null;
}

export const inventoryBounds = {
  nodes: 100_000,
  gpusPerNode: 64,
  cpus: 8_192,
  ramMb: 1_073_741_824,
  storageGb: 100_000_000,
  numaNode: 1_023,
} as const;

const nodeName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;
const pciAddress = /^[0-9A-Za-z:.-]{1,32}$/;
const deviceUuid = /^[\u0021-\u007e]{1,100}$/;
const netAddress = /^[0-9A-Za-z.:%_-]{1,253}$/;
const fabricName = /^[\u0020-\u007e]{1,100}$/;

export function checkInventory(inventory: Inventory, defaults: ClusterDefaults): CheckedInventory {
  const { nodes } = inventory;
  if (nodes.length > inventoryBounds.nodes) {
    return {
      ok: false,
      problem: `The engine lists ${nodes.length} nodes; the maximum is ${inventoryBounds.nodes}.`,
    };
  }
  const names = new Set<string>();
  const devices = new Set<string>();
  const seen: ReportedNode[] = [];
  let unnamed = 0;
  for (const node of nodes) {
    if (!nodeName.test(node.name)) {
      unnamed += 1;
      continue;
    }
    if (names.has(node.name)) return { ok: false, problem: `The engine lists the node ${node.name} twice.` };
    names.add(node.name);
    seen.push(checkNode(node, defaults, devices));
  }
  return { ok: true, engine: cleanText(inventory.engine) ?? 'unknown', nodes: seen, unnamed };
}

function checkNode(node: InventoryNode, defaults: ClusterDefaults, devices: Set<string>): ReportedNode {
  const { name, hardware } = node;
  if (!node.reachable || hardware === null) {
    const detail = node.detail === null ? '' : `: ${node.detail}`;
    return unreadNode(name, `The engine cannot reach or read the node${detail}`, false);
  }
  const problem = implausibilityOf(node, hardware) ?? duplicateDevice(hardware, devices);
  if (problem !== null) return rejectedNode(name, problem);
  return { name, hardware: toHardware(node, hardware, defaults), implausible: false, problem: '' };
}

function unreadNode(name: string, problem: string, implausible: boolean): ReportedNode {
  return { name, hardware: null, implausible, problem: boundedReason(problem) };
}

/** Keeps a node out of sale whatever the engine reports about it. */
export function withheldNode(name: string, problem: string): ReportedNode {
  return unreadNode(name, problem, true);
}

export function rejectedNode(name: string, problem: string): ReportedNode {
  return unreadNode(name, `The reported hardware is implausible: ${problem}`, true);
}

function implausibilityOf(node: InventoryNode, hardware: NodeHardware): string | null {
  const { gpus, fabric } = hardware;
  if (gpus.length > inventoryBounds.gpusPerNode) return `${gpus.length} GPUs in one node`;
  if (!isBetween(hardware.cpuCount, 1, inventoryBounds.cpus)) return `${hardware.cpuCount} threads`;
  if (!isBetween(hardware.ramMb, 1, inventoryBounds.ramMb)) return `${hardware.ramMb} MB of memory`;
  if (!isBetween(hardware.storageGb, 0, inventoryBounds.storageGb)) return `${hardware.storageGb} GB of disk`;
  if (node.address !== null && !netAddress.test(node.address)) return 'an invalid address';
  if (fabric !== null && !fabricName.test(fabric)) return 'an invalid fabric name';
  for (const gpu of gpus) {
    const wrong = implausibleGpu(gpu);
    if (wrong !== null) return wrong;
  }
  const addresses = new Set(gpus.map((gpu) => gpu.pciAddress.toLowerCase()));
  if (addresses.size !== gpus.length) return 'two GPUs at one address';
  return null;
}

function implausibleGpu(gpu: InventoryGpu): string | null {
  if (!pciAddress.test(gpu.pciAddress)) return 'a GPU at an invalid address';
  if (gpu.uuid !== null && !deviceUuid.test(gpu.uuid)) return 'a GPU with an invalid id';
  if (gpu.model.trim() === '' || gpu.model.length > 200) return 'a GPU with an invalid model name';
  if (gpu.ramMb !== null && !isBetween(gpu.ramMb, 0, inventoryBounds.ramMb))
    return `a GPU with ${gpu.ramMb} MB`;
  if (gpu.numaNode !== null && !isBetween(gpu.numaNode, -1, inventoryBounds.numaNode)) {
    return `a GPU at NUMA node ${gpu.numaNode}`;
  }
  return null;
}

/** A device can be in one node only, so a second node that reports it is rejected. */
function duplicateDevice(hardware: NodeHardware, devices: Set<string>): string | null {
  const ids = hardware.gpus.flatMap(({ uuid }) => (uuid === null ? [] : [uuid]));
  for (const id of ids) {
    if (devices.has(id)) return `the GPU ${id} is in two nodes`;
    devices.add(id);
  }
  return null;
}

function isBetween(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function toHardware(node: InventoryNode, hardware: NodeHardware, cluster: ClusterDefaults): ReportedHardware {
  const reported = hardware.gpus.map(({ cudaVersion }) => cudaVersion ?? cluster.cudaVersion);
  const versions = reported.flatMap((cudaVersion) => {
    const cuda = cudaVersion === null ? null : parseCudaVersion(cudaVersion);
    return cuda === null || cudaVersion === null ? [] : [{ cuda, text: cudaVersion }];
  });
  // The node supports what all of its GPUs support: the oldest CUDA.
  const oldest = versions.toSorted((one, other) => one.cuda - other.cuda)[0] ?? null;
  const facts = {
    address: node.address,
    cpuModel: cleanText(hardware.cpuModel) ?? 'unknown',
    cpuCount: hardware.cpuCount,
    ramMb: hardware.ramMb,
    storageGb: hardware.storageGb,
    driverVersion: cleanText(hardware.gpus.find((gpu) => gpu.driverVersion !== null)?.driverVersion ?? ''),
    cudaVersion: oldest === null ? null : cleanText(oldest.text),
    cuda: oldest?.cuda ?? null,
    fabric: hardware.fabric ?? cluster.fabric,
    connectionType: hardware.connectionType ?? cluster.connectionType,
    gpus: hardware.gpus
      .map(toReportedGpu)
      .toSorted((one, other) => (one.pciAddress < other.pciAddress ? -1 : 1)),
  };
  const digest = createHash('sha256').update(JSON.stringify(facts)).digest('base64url');
  return { ...facts, digest };
}

function toReportedGpu(gpu: InventoryGpu): ReportedGpu {
  const model = findGpuModel(gpu.model);
  return {
    pciAddress: gpu.pciAddress.toLowerCase(),
    deviceUuid: gpu.uuid,
    model: cleanText(gpu.model) ?? 'unknown',
    gpuType: model?.gpuType ?? null,
    formFactor: model?.formFactor ?? null,
    ramMb: gpu.ramMb ?? model?.ramMb ?? null,
    // The kernel reports -1 if the NUMA node is unknown.
    numaNode: gpu.numaNode === null || gpu.numaNode < 0 ? null : gpu.numaNode,
  };
}

function cleanText(text: string): string | null {
  return boundedText(text, 200);
}
