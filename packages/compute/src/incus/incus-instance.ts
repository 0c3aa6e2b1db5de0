import { parseId } from '@millrace/platform/ids';
import { msToSeconds, nanosecondsToMs } from '@millrace/platform/money';
import type { MachineMetrics, MachinePower, MachineRef, MachineView, MachineSpec } from '../driver.ts';
import { vendorData } from './cloud-init.ts';
import type { NicAddresses } from './incus-addresses.ts';
import type { IncusDevices, IncusInstance, IncusState } from './api/schemas.ts';
import { IncusError } from './api/incus-errors.ts';
import { instanceName, externalIdFrom, parseMachineRef } from './api/incus-names.ts';
import { portDevices, portsOf } from './incus-ports.ts';
import type { IncusSettings } from './incus-settings.ts';

// A wish as an instance of Incus, and an instance as a view. Nothing here speaks to anybody.

/** Where we keep what Incus has no place for. */
export const configKeys = {
  owner: 'user.millrace.owner',
  externalId: 'user.millrace.external-id',
  org: 'user.millrace.org',
  mode: 'user.millrace.mode',
  image: 'user.millrace.image',
  sshUser: 'user.millrace.ssh-user',
  label: 'user.millrace.label.',
  /**
   * Its disk is whole and its files are in: from here on it may be started, and is never made anew. Without it the
   * instance is what a crash left, or is being made right now.
   */
  ready: 'user.millrace.ready',
  /** Its access was cut, which nothing undoes. */
  cut: 'user.millrace.cut',
} as const;

/** Whatever would let somebody in again is refused once access was cut. */
export function assertAccessNotCut(config: IncusInstance['config']): void {
  if (config?.[configKeys.cut] === undefined) return;
  throw new IncusError('conflict', 'The access to this machine was cut; it can only be terminated.');
}

const nicName = 'eth0';

/**
 * The disk on which a VM finds its keys and user data, made anew by Incus at every start. Incus shares them with no VM that
 * does not ask for it, and writes into none: without this disk nobody could log in.
 */
const cloudInitDisk: IncusDevices = { 'cloud-init': { type: 'disk', source: 'cloud-init:config' } };

export function gpuDevices(addresses: readonly string[]): IncusDevices {
  return Object.fromEntries(
    addresses.map((pci) => [
      `gpu-${pci.replaceAll(/[:.]/g, '-')}`,
      { type: 'gpu', gputype: 'physical', pci },
    ]),
  );
}

export function gpusOf(devices: IncusDevices): string[] {
  return Object.values(devices)
    .flatMap((device) => (device['type'] === 'gpu' ? [device['pci'] ?? ''] : []))
    .filter((address) => address !== '')
    .toSorted();
}

function sizeOf(spec: MachineSpec): { readonly cpu: string; readonly memory: string; readonly disk: string } {
  return { cpu: String(spec.cpuCount), memory: `${spec.ramMb}MiB`, disk: `${spec.diskGb}GiB` };
}

export interface InstanceBody {
  readonly name: string;
  readonly type: IncusSettings['instanceType'];
  readonly source: { readonly type: 'image'; readonly fingerprint: string };
  readonly profiles: readonly string[];
  readonly config: Readonly<Record<string, string>>;
  readonly devices: IncusDevices;
}

/** What the wish leaves to the cluster: which image its name stands for, where ports are opened, its addresses. */
export interface InstanceParameters {
  readonly fingerprint: string;
  readonly listenAddress: string;
  readonly addresses: NicAddresses;
}

/**
 * The network interface (nic) of a machine on a bridge that machines of other tenants share. Port isolation keeps frames from other machines
 * away. The filters drop every frame whose MAC or address is not the one assigned here, so that no machine can take a
 * neighbour's address in the eyes of the host: neither by ARP nor by neighbour discovery, DHCP or router advertisements.
 */
function nicDevice({ ipv4, ipv6, hwaddr, hostName }: NicAddresses, network: string): IncusDevices {
  const nic = {
    type: 'nic',
    name: nicName,
    network,
    hwaddr,
    ...(hostName !== undefined && { host_name: hostName }),
    'ipv4.address': ipv4,
    // With filtering, `none` drops all IPv6 of the machine.
    'ipv6.address': ipv6 ?? 'none',
    'security.port_isolation': 'true',
    'security.mac_filtering': 'true',
    'security.ipv4_filtering': 'true',
    'security.ipv6_filtering': 'true',
  };
  return { [nicName]: nic };
}

const filters = ['security.mac_filtering', 'security.ipv4_filtering', 'security.ipv6_filtering'] as const;

/**
 * Whether the host drops what the machine sends under other addresses than its own. Versions before decision 148 made nics
 * without filters. A machine without a nic sends nothing.
 */
export function isFiltered({ devices }: Pick<IncusInstance, 'devices'>): boolean {
  const nic = devices?.[nicName];
  return nic === undefined || filters.every((filter) => nic[filter] === 'true');
}

export function networkOf({ devices }: Pick<IncusInstance, 'devices'>): string | null {
  return devices?.[nicName]?.['network'] ?? null;
}

/** The MAC of its nic, and null for a machine that Incus has not given one yet. */
export function macOf({ config, devices }: Pick<IncusInstance, 'config' | 'devices'>): string | null {
  const mac = devices?.[nicName]?.['hwaddr'] ?? config?.[`volatile.${nicName}.hwaddr`] ?? '';
  return /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(mac) ? mac : null;
}

/** The same devices with other addresses for the nic. */
export function withAddresses(devices: IncusDevices, addresses: NicAddresses): IncusDevices {
  return { ...devices, ...nicDevice(addresses, devices[nicName]?.['network'] ?? '') };
}

export function instanceBody(
  spec: MachineSpec,
  { fingerprint, listenAddress, addresses }: InstanceParameters,
  settings: IncusSettings,
): InstanceBody {
  const size = sizeOf(spec);
  const labels = Object.entries(spec.labels).map(
    ([key, value]) => [`${configKeys.label}${key}`, value] as const,
  );
  return {
    name: instanceName(spec.externalId),
    type: settings.instanceType,
    source: { type: 'image', fingerprint },
    // No profile: what a machine is made of stands in its own body, and nothing is added behind our back.
    profiles: [],
    config: {
      ...Object.fromEntries(labels),
      [configKeys.owner]: settings.owner,
      [configKeys.externalId]: spec.externalId,
      [configKeys.org]: spec.orgId,
      [configKeys.mode]: spec.mode,
      [configKeys.image]: spec.image,
      [configKeys.sshUser]: settings.sshUser,
      'limits.cpu': size.cpu,
      'limits.memory': size.memory,
      ...(settings.instanceType === 'virtual-machine' && { 'security.secureboot': 'false' }),
      // A range of user ids of its own: a process that escapes one container owns nothing of another.
      ...(settings.instanceType === 'container' && { 'security.idmap.isolated': 'true' }),
      ...(settings.allowsNesting && settings.instanceType === 'container' && { 'security.nesting': 'true' }),
      'cloud-init.vendor-data': vendorData(spec, settings.sshUser, settings.instanceType),
      ...(spec.userData !== null && { 'cloud-init.user-data': spec.userData }),
    },
    devices: {
      root: { type: 'disk', path: '/', pool: settings.storagePool, size: size.disk },
      ...nicDevice(addresses, settings.network),
      ...(settings.instanceType === 'virtual-machine' && cloudInitDisk),
      ...gpuDevices(spec.gpuPciAddresses),
      ...portDevices({}, spec.ports, listenAddress, settings.instanceType),
    },
  };
}

/** In what the instance differs from the wish, for people; null if it is the one that was asked for. */
export function differenceFromSpec(
  instance: IncusInstance,
  spec: MachineSpec,
  nodeName: string,
): string | null {
  const config = instance.config ?? {};
  const devices = instance.devices ?? {};
  const size = sizeOf(spec);
  const pairs: readonly (readonly [string, string | undefined, string])[] = [
    ['node', nodeName, spec.nodeName],
    ['organisation', config[configKeys.org], spec.orgId],
    ['mode', config[configKeys.mode], spec.mode],
    ['image', config[configKeys.image], spec.image],
    ['CPUs', config['limits.cpu'], size.cpu],
    ['memory', config['limits.memory'], size.memory],
    ['disk', devices['root']?.['size'], size.disk],
    ['GPUs', gpusOf(devices).join(' '), spec.gpuPciAddresses.toSorted().join(' ')],
  ];
  const found = pairs.find(([, has, wanted]) => has !== wanted);
  if (found === undefined) return null;
  const [what, has, wanted] = found;
  return `its ${what} is ${JSON.stringify(has ?? null)}, asked for was ${JSON.stringify(wanted)}`;
}

const statusOn = new Set([101, 103, 113]);
const statusOff = 102;
const statusError = 112;

export function isOn(instance: IncusInstance): boolean {
  return statusOn.has(instance.status_code);
}

export function isOff(instance: IncusInstance): boolean {
  return instance.status_code === statusOff;
}

/** A row that the cluster knows while the member that holds it does not answer: all it tells is that it exists. */
export function isUnreachable(instance: IncusInstance): boolean {
  return instance.status_code === statusError && (instance.config === null || instance.config === undefined);
}

/** Made to the end, by whoever made it. */
export function isReady(instance: IncusInstance): boolean {
  return instance.config?.[configKeys.ready] !== undefined;
}

/** Whether it was ever started: then its disk may hold data of the tenant, and the system inside knows its nic. */
export function hasRun(instance: IncusInstance): boolean {
  const last = instance.config?.['volatile.last_state.power'];
  return isOn(instance) || (instance.last_used_at ?? '') > '1971' || last === 'RUNNING';
}

/** Never started, so nobody can have put anything on its disk. */
export function isNeverStarted(instance: IncusInstance): boolean {
  return !hasRun(instance) && !isReady(instance);
}

/** `isUnderWay`: the engine is at work on it, which it does not show: until a start has ended it says "stopped". */
function powerOf(
  instance: IncusInstance,
  isUnderWay: boolean,
): { readonly power: MachinePower; readonly detail: string | null } {
  if (!isReady(instance)) return { power: 'changing', detail: 'being made, or left half-made by a crash' };
  if (isOn(instance)) return { power: 'on', detail: null };
  if (isOff(instance)) {
    return isUnderWay ? { power: 'changing', detail: 'being started' } : { power: 'off', detail: null };
  }
  const power = instance.status_code === statusError ? 'error' : 'changing';
  return { power, detail: instance.status };
}

function dateOf(text: string | null | undefined): Date | null {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) || ms <= 0 ? null : new Date(ms);
}

/**
 * The addresses that the platform assigned, which are the only ones that pass the host's filters. A machine made before there
 * were any has those that the system inside shows; its tenant can add any address there.
 */
function privateIpsOf({ devices, state }: IncusInstance): string[] {
  const nic = devices?.[nicName] ?? {};
  const assigned = [nic['ipv4.address'] ?? 'none', nic['ipv6.address'] ?? 'none'].filter(
    (address) => address !== 'none',
  );
  return nic['security.ipv4_filtering'] === 'true' ? assigned : globalAddresses(state);
}

/** The addresses of the nic that we gave it come first. */
function globalAddresses(state: IncusState | null | undefined): string[] {
  const { [nicName]: own, ...others } = state?.network ?? {};
  return [...(own === undefined ? [] : [own]), ...Object.values(others)]
    .flatMap((nic) => nic.addresses ?? [])
    .filter(({ scope }) => scope === 'global')
    .map(({ address }) => address);
}

export interface ObservedInstance {
  readonly instance: IncusInstance;
  /** Whether the engine is doing something with it. Asked for only of those that are said to be off. */
  readonly isUnderWay: boolean;
}

/** Whose machine it is: told by its project, or by its mark where all machines are in one. Null for what is not ours. */
function ownerOf(instance: IncusInstance, project: string | null): MachineRef | null {
  if (project === null) return parseMachineRef(instance.name, instance.project);
  const externalId = externalIdFrom(instance, project);
  const orgId = parseId('org', instance.config?.[configKeys.org] ?? '');
  return externalId === null || orgId === null ? null : { externalId, orgId };
}

/** As Unix has them. It stands in a command that tenants are shown and paste, so a daemon does not word it. */
const userPattern = /^[a-z_][a-z0-9_-]{0,31}$/;

/** Who logs in: the mark says it of machines that were made while the settings had another. */
export function userIn(
  config: Readonly<Record<string, string>>,
  settings: Pick<IncusSettings, 'sshUser'>,
): string {
  const marked = config[configKeys.sshUser] ?? '';
  return userPattern.test(marked) ? marked : settings.sshUser;
}

/** Null for what is not ours. */
export function viewOf(
  { instance, isUnderWay }: ObservedInstance,
  node: { readonly name: string; readonly address: string | null },
  settings: Pick<IncusSettings, 'sshUser' | 'owner' | 'project'>,
): MachineView | null {
  const config = instance.config ?? {};
  const ref = ownerOf(instance, settings.project);
  if (ref === null || config[configKeys.owner] !== settings.owner) return null;
  const devices = instance.devices ?? {};
  const labels = Object.entries(config).filter(([key]) => key.startsWith(configKeys.label));
  return {
    ...ref,
    ...powerOf(instance, isUnderWay),
    nodeName: node.name,
    gpuPciAddresses: gpusOf(devices),
    privateIps: privateIpsOf(instance),
    address: node.address,
    ports: portsOf(devices),
    sshUser: userIn(config, settings),
    labels: Object.fromEntries(labels.map(([key, value]) => [key.slice(configKeys.label.length), value])),
    createdAt: dateOf(instance.created_at),
    ...(isFiltered(instance) ? {} : { isUnfiltered: true as const }),
  };
}

/** A count that Incus has; it writes 0 for what it does not know of a machine that is off, and -1 elsewhere. */
function countOrNull(value: number | null | undefined, isRunning: boolean): number | null {
  return isRunning && typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** As `countOrNull`, of what every machine that runs has used some of: without an agent in a VM, Incus writes 0 here too. */
function nonZeroCountOrNull(value: number | null | undefined, isRunning: boolean): number | null {
  return value === 0 ? null : countOrNull(value, isRunning);
}

function total(values: readonly (number | null)[]): number | null {
  const counted = values.filter((value) => value !== null);
  return counted.length === 0 ? null : counted.reduce((sum, value) => sum + value, 0);
}

export function metricsOf(state: IncusState, at: Date): MachineMetrics {
  const isRunning = statusOn.has(state.status_code);
  const cards = Object.values(state.network ?? {}).filter(({ type }) => type !== 'loopback');
  const cpuNs = nonZeroCountOrNull(state.cpu?.usage, isRunning);
  const disks = Object.values(state.disk ?? {}).map(({ usage }) => countOrNull(usage, (usage ?? 0) > 0));
  return {
    at,
    cpuSeconds: cpuNs === null ? null : msToSeconds(nanosecondsToMs(cpuNs)),
    ramUsedBytes: nonZeroCountOrNull(state.memory?.usage, isRunning),
    diskUsedBytes: total(disks),
    networkInBytes: total(cards.map(({ counters }) => countOrNull(counters?.bytes_received, isRunning))),
    networkOutBytes: total(cards.map(({ counters }) => countOrNull(counters?.bytes_sent, isRunning))),
    // Incus hands GPUs over and does not look inside them.
    gpus: null,
  };
}
