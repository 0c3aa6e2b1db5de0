import { bytesToMebibytes, divideWithRemainder } from '@millrace/platform/money';
import type { InventoryGpu, InventoryNode, NodeHardware } from '../driver.ts';
import { hasAddresses, subnetBits } from './incus-addresses.ts';
import type { IncusGpuCard, IncusMember, IncusNetwork, IncusResources } from './api/schemas.ts';
import type { IncusSettings } from './incus-settings.ts';

// Converts the resources of a member to hardware. Pure.

const gibibyte = 1_073_741_824;

/** Vendors of rented GPUs. Incus also lists the console graphics chip of a server as a GPU. */
const gpuMakers: ReadonlyMap<string, string> = new Map([
  ['10de', 'NVIDIA'],
  ['1002', 'AMD'],
  ['1da3', 'Habana'],
]);

const pciPattern = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;

function textOr(value: string | null | undefined, otherwise: string | null): string | null {
  return value === undefined || value === null || value.trim() === '' ? otherwise : value.trim();
}

/** Null for a card of another vendor or without an address. */
export function gpuOf(card: IncusGpuCard): InventoryGpu | null {
  const maker = gpuMakers.get((card.vendor_id ?? '').toLowerCase());
  const pciAddress = (card.pci_address ?? '').toLowerCase();
  if (maker === undefined || !pciPattern.test(pciAddress)) return null;
  const { nvidia, numa_node: numaNode } = card;
  const fallback = textOr(card.product, `${maker} ${card.product_id ?? 'GPU'}`);
  return {
    pciAddress,
    uuid: textOr(nvidia?.uuid, null),
    model: textOr(nvidia?.model, fallback) ?? maker,
    ramMb: null,
    // The kernel reports -1 if the board does not specify it.
    numaNode: typeof numaNode === 'number' && numaNode >= 0 && numaNode < 1_024 ? numaNode : null,
    driverVersion: textOr(nvidia?.nvrm_version, textOr(card.driver_version, null)),
    cudaVersion: textOr(nvidia?.cuda_version, null),
  };
}

/** Labels that the operator sets on the member (`incus cluster edit`), because no engine knows its network cables. */
const labels = { fabric: 'user.millrace.fabric', connectionType: 'user.millrace.connection-type' };
const namePattern = /^[A-Za-z0-9._-]{1,64}$/;

function fabricOf(config: IncusMember['config']): Pick<NodeHardware, 'fabric' | 'connectionType'> {
  const fabric = config?.[labels.fabric] ?? '';
  const connection = config?.[labels.connectionType];
  return {
    fabric: namePattern.test(fabric) ? fabric : null,
    connectionType: connection === 'ethernet' || connection === 'infiniband' ? connection : null,
  };
}

export function hardwareOf(
  resources: IncusResources,
  storageBytes: number,
  config: IncusMember['config'],
): NodeHardware {
  const gpus = (resources.gpu?.cards ?? []).map(gpuOf).filter((gpu) => gpu !== null);
  const byAddress = new Map(gpus.map((gpu) => [gpu.pciAddress, gpu]));
  return {
    cpuModel: textOr(resources.cpu.sockets?.[0]?.name, 'unknown') ?? 'unknown',
    cpuCount: resources.cpu.total,
    ramMb: Math.floor(bytesToMebibytes(resources.memory.total)),
    storageGb: divideWithRemainder(storageBytes, gibibyte)[0],
    ...fabricOf(config),
    gpus: [...byAddress.values()].toSorted((a, b) => (a.pciAddress < b.pciAddress ? -1 : 1)),
  };
}

/** Without the brackets of IPv6. */
export function hostOf(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const host = new URL(url).hostname.replaceAll(/^\[|\]$/g, '');
  return host === '' ? null : host;
}

/** Incus reports a dead member as online for about 20 s, so this alone does not prove that it responds. */
export function isOnline(member: IncusMember): boolean {
  return member.status === 'Online' || member.status === 'Evacuated';
}

export function nodeOf(
  member: { readonly name: string; readonly status: string; readonly message: string },
  address: string | null,
  hardware: NodeHardware | null,
  failure: string | null,
): InventoryNode {
  const isWell = member.status === 'Online';
  return {
    name: member.name,
    reachable: hardware !== null,
    detail: failure ?? (isWell ? null : `${member.status}: ${member.message}`),
    address,
    hardware,
  };
}

/** Why no machine can use the network of the settings; null if it can. */
export function networkProblem(
  { network: name }: Pick<IncusSettings, 'network'>,
  network: IncusNetwork | null,
): string | null {
  if (network === null) return `Incus has no network ${name}, which the settings of the cluster name.`;
  // By name, Incus also returns interfaces and bridges of the host.
  if (!network.managed) return `The network ${name} in the settings of the cluster is not managed by Incus.`;
  if (network.status !== 'Created')
    return `The network ${name} is not ready: ${network.status ?? 'unknown'}.`;
  if (network.type !== 'bridge') {
    return `The network ${name} has the type ${network.type ?? 'unknown'}; a bridge is required, because Incus filters addresses only there.`;
  }
  const config = network.config ?? {};
  // A certificate that is restricted to a project sees the network without its settings; `create` reads them elsewhere.
  if (Object.keys(config).length === 0) return null;
  return hasAddresses(config['ipv4.address'] ?? '')
    ? null
    : `The network ${name} has no IPv4 subnet of ${subnetBits.min} to ${subnetBits.max} bits for the addresses of machines.`;
}
