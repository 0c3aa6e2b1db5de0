import { bytesToMebibytes, divideWithRemainder } from '@millrace/platform/money';
import type { InventoryGpu, InventoryNode, NodeHardware } from '../driver.ts';
import { hasAddresses, subnetBits } from './incus-addresses.ts';
import type { IncusGpuCard, IncusMember, IncusNetwork, IncusResources } from './api/schemas.ts';
import type { IncusSettings } from './incus-settings.ts';

// What a member reports, as hardware that can be sold. Pure.

const gibibyte = 1_073_741_824;

/** Makers of what we rent out. A server also has a chip that draws its console, which Incus lists among the GPUs. */
const gpuMakers: ReadonlyMap<string, string> = new Map([
  ['10de', 'NVIDIA'],
  ['1002', 'AMD'],
  ['1da3', 'Habana'],
]);

const pciPattern = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;

function textOr(value: string | null | undefined, otherwise: string | null): string | null {
  return value === undefined || value === null || value.trim() === '' ? otherwise : value.trim();
}

/** Null for a card that is no GPU of ours, or has no address to name it by. */
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
    // The kernel writes -1 where the board does not say.
    numaNode: typeof numaNode === 'number' && numaNode >= 0 && numaNode < 1_024 ? numaNode : null,
    driverVersion: textOr(nvidia?.nvrm_version, textOr(card.driver_version, null)),
    cudaVersion: textOr(nvidia?.cuda_version, null),
  };
}

/** What the operator wrote on the member itself (`incus cluster edit`), since no engine knows its own cables. */
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

/** The host of a member's URL, without the brackets of IPv6. */
export function hostOf(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const host = new URL(url).hostname.replaceAll(/^\[|\]$/g, '');
  return host === '' ? null : host;
}

/** The engine still calls a member online for some 20 s after its death, so its own word is not enough. */
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

/** Why no machine could be put on the network of the settings; null if nothing speaks against it. */
export function networkProblem(
  { network: name }: Pick<IncusSettings, 'network'>,
  network: IncusNetwork | null,
): string | null {
  if (network === null) return `Its settings name the network ${name}, which Incus does not have.`;
  // Asked by name, Incus also shows the cards and bridges of the host itself.
  if (!network.managed) return `Its settings name ${name}, which is a network of the host and none of Incus.`;
  if (network.status !== 'Created')
    return `The network ${name} is not ready: ${network.status ?? 'unknown'}.`;
  if (network.type !== 'bridge') {
    return `The network ${name} is of the type ${network.type ?? 'unknown'}: Incus filters addresses on bridges only.`;
  }
  const config = network.config ?? {};
  // A certificate that is limited to a project is shown the network without its settings; `create` reads them elsewhere.
  if (Object.keys(config).length === 0) return null;
  return hasAddresses(config['ipv4.address'] ?? '')
    ? null
    : `The network ${name} has no IPv4 subnet of ${subnetBits.min} to ${subnetBits.max} bits, from which machines get their addresses.`;
}
