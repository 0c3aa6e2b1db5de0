import { divideWithRemainder } from '@millrace/platform/money';
import type { InventoryGpu, InventoryNode, NodeHardware } from '../driver.ts';
import type { IronicInspection, IronicNode } from './ironic-schemas.ts';
import {
  hasNoConductor,
  hasAnnotation,
  isCleaningDisabled,
  isPowerKnown,
  readOperatorNotes,
  type LocatedMachine,
  type OperatorNotes,
} from './ironic-machine.ts';

// Converts Ironic's data of a node to hardware. Pure.

const gibibyte = 1_073_741_824;
const pciPattern = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;
const maxGpus = 64;

/** Vendors of rented GPUs. A server also has a console graphics chip. */
const gpuMakers: ReadonlyMap<string, string> = new Map([
  ['10de', 'NVIDIA'],
  ['1002', 'AMD'],
]);

/** From the PCI database, with the names of the vendor's driver. Bridges and network cards are not listed. */
const products: ReadonlyMap<string, string> = new Map([
  ['10de:2330', 'NVIDIA H100 80GB HBM3'],
  ['10de:2331', 'NVIDIA H100 PCIe'],
  ['10de:2321', 'NVIDIA H100 NVL'],
  ['10de:2335', 'NVIDIA H200'],
  ['10de:233b', 'NVIDIA H200 NVL'],
  ['10de:2901', 'NVIDIA B200'],
]);

interface DetectedGpu {
  readonly pciAddress: string;
  readonly uuid: string | null;
  /** From the device itself, if known. */
  readonly model: string | null;
  readonly numaNode: number | null;
}

/** PCI class 03: displays and accelerators. */
const isDisplay = (kind: string | null | undefined): boolean =>
  (kind ?? '') === '' || /^(?:0x)?03/i.test(kind ?? '');

function gpusFromInspection(inspection: IronicInspection | null): readonly DetectedGpu[] {
  return (inspection?.plugin_data?.pci_devices ?? []).flatMap((device) => {
    const maker = (device.vendor_id ?? '').toLowerCase();
    const pciAddress = (device.bus ?? '').toLowerCase();
    const name = gpuMakers.get(maker);
    if (name === undefined || !isDisplay(device.class) || !pciPattern.test(pciAddress)) return [];
    const product = (device.product_id ?? '').toLowerCase();
    const numaNode = device.numa_node_id ?? -1;
    return {
      pciAddress,
      uuid: null,
      model: products.get(`${maker}:${product}`) ?? `${name} ${product || 'GPU'}`,
      numaNode: numaNode >= 0 && numaNode < 1_024 ? numaNode : null,
    };
  });
}

function gpusFromNotes({ gpus }: OperatorNotes): readonly DetectedGpu[] {
  return (gpus ?? []).flatMap(({ pci_address: written, uuid }) => {
    const pciAddress = written.toLowerCase();
    return pciPattern.test(pciAddress) ? { pciAddress, uuid: uuid ?? null, model: null, numaNode: null } : [];
  });
}

function capability({ properties }: IronicNode, name: string): string | null {
  const written = properties?.['capabilities'];
  if (typeof written !== 'string') return null;
  const entry = written.split(',').find((part) => part.trim().startsWith(`${name}:`));
  return entry === undefined ? null : entry.trim().slice(name.length + 1);
}

/** If only the number is known, GPUs get invented addresses; the node is sold as a whole, so no single address is requested. */
function gpusFromCapabilities(node: IronicNode): readonly DetectedGpu[] {
  const count = Math.min(integerOrNull(capability(node, 'gpu_count')) ?? 0, maxGpus);
  return Array.from({ length: count }, (_none, index) => ({
    pciAddress: `0000:${(index + 1).toString(16).padStart(2, '0')}:00.0`,
    uuid: null,
    model: null,
    numaNode: null,
  }));
}

const traitPrefix = 'CUSTOM_GPU_';

/** For example `H100 SXM` for `CUSTOM_GPU_H100_SXM`. */
function traitModel({ traits }: IronicNode): string | null {
  const [trait] = (traits ?? []).filter((name) => name.startsWith(traitPrefix)).toSorted();
  return trait === undefined ? null : trait.slice(traitPrefix.length).replaceAll('_', ' ');
}

/** The model comes from the operator's notes, then from the device, then from a trait. */
export function gpusOf(node: IronicNode, inspection: IronicInspection | null): readonly InventoryGpu[] {
  const notes = readOperatorNotes(node);
  const sources = [gpusFromInspection(inspection), gpusFromNotes(notes), gpusFromCapabilities(node)];
  const found = sources.find((gpus) => gpus.length > 0) ?? [];
  const called = traitModel(node);
  const unreadable = { ramMb: null, driverVersion: null, cudaVersion: null };
  const byAddress = new Map(
    found.map(({ model, ...gpu }) => [
      gpu.pciAddress,
      { ...gpu, model: notes.gpu_model ?? model ?? called ?? 'GPU', ...unreadable },
    ]),
  );
  return [...byAddress.values()].toSorted((one, other) => (one.pciAddress < other.pciAddress ? -1 : 1));
}

function integerOrNull(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : null;
}

/** Null until an inspection or the operator has specified the size. */
export function hardwareOf(node: IronicNode, inspection: IronicInspection | null): NodeHardware | null {
  const { properties } = node;
  const found = inspection?.inventory;
  const cpuCount = integerOrNull(found?.cpu?.count) ?? integerOrNull(properties?.['cpus']);
  const ramMb = integerOrNull(found?.memory?.physical_mb) ?? integerOrNull(properties?.['memory_mb']);
  if (cpuCount === null || ramMb === null) return null;
  const diskBytes = (found?.disks ?? []).reduce((sum, { size }) => sum + (integerOrNull(size) ?? 0), 0);
  const notes = readOperatorNotes(node);
  return {
    cpuModel: found?.cpu?.model_name ?? 'unknown',
    cpuCount,
    ramMb,
    storageGb:
      diskBytes > 0
        ? divideWithRemainder(diskBytes, gibibyte)[0]
        : (integerOrNull(properties?.['local_gb']) ?? 0),
    gpus: gpusOf(node, inspection),
    fabric: notes.fabric ?? null,
    connectionType: notes.connection_type ?? null,
  };
}

/** States in which a node is not rented out. */
const unrentableStates: ReadonlySet<string> = new Set([
  'enroll',
  'verifying',
  'manageable',
  'inspecting',
  'inspect wait',
  'inspect failed',
  'adopting',
  'adopt failed',
  'clean failed',
]);

/** Why the node cannot be sold; null if it can. */
export function problemOf(node: IronicNode, located: LocatedMachine | null): string | null {
  const state = node.provision_state ?? 'in no state';
  if (hasNoConductor(node)) return 'Ironic has no live conductor.';
  if (node.maintenance === true) {
    const why = node.maintenance_reason ?? node.last_error ?? 'no reason given';
    return `The node is in maintenance: ${why}`;
  }
  if (unrentableStates.has(state)) return `The node is ${state}: ${node.last_error ?? 'an operator uses it'}`;
  if (located === null && state !== 'available')
    return `The node is ${state}, but not for a machine of the platform.`;
  const isForeign = (node.instance_uuid ?? null) !== null || (hasAnnotation(node) && state !== 'available');
  if (located === null && isForeign) return 'Another client has allocated the node.';
  if (isCleaningDisabled(node))
    return 'The node would not be wiped after a tenant: its automated_clean is false.';
  if ((node.resource_class ?? '') === '') return 'The node has no resource class and cannot be allocated.';
  return isPowerKnown(node) ? null : 'The power state of the node is unknown.';
}

export function inventoryNodeOf(
  node: IronicNode,
  located: LocatedMachine | null,
  inspection: IronicInspection | null,
): InventoryNode {
  const hardware = hardwareOf(node, inspection);
  const problem =
    problemOf(node, located) ??
    (hardware === null ? 'The node was never inspected: its size is unknown.' : null);
  const called = (node.name ?? '') === '' ? null : (node.name ?? null);
  return {
    name: node.uuid,
    reachable: problem === null,
    detail: problem ?? called,
    address: readOperatorNotes(node).address ?? null,
    hardware: problem === null ? hardware : null,
  };
}
