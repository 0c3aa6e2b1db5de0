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

// Converts a spec to an Incus instance, and an instance to a view. Pure.

/** Owner annotations. */
export const configKeys = {
  owner: 'user.millrace.owner',
  externalId: 'user.millrace.external-id',
  org: 'user.millrace.org',
  mode: 'user.millrace.mode',
  image: 'user.millrace.image',
  sshUser: 'user.millrace.ssh-user',
  label: 'user.millrace.label.',
  /** Disk and files are complete; never created again. Without it: being created, or left by a crash. */
  ready: 'user.millrace.ready',
  /** Access was cut permanently. */
  cut: 'user.millrace.cut',
} as const;

/** Called before every change that could restore access. */
export function assertAccessNotCut(config: IncusInstance['config']): void {
  if (config?.[configKeys.cut] === undefined) return;
  throw new IncusError('conflict', 'Access to this machine was cut; it can only be terminated.');
}

const nicName = 'eth0';

/** Holds a VM's keys and user data, written by Incus at every start. Without it no login would work. */
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

/** Values that the cluster determines: image fingerprint, listen address, nic addresses. */
export interface InstanceParameters {
  readonly fingerprint: string;
  readonly listenAddress: string;
  readonly addresses: NicAddresses;
}

/**
 * The nic of a machine on a bridge that other tenants share. Port isolation blocks frames between machines. The filters drop
 * every frame with another MAC or address than the assigned ones, so that no machine can take over a neighbour's address by ARP,
 * neighbour discovery, DHCP or router advertisements.
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

/** Versions before decision 148 created nics without filters. A machine without a nic sends nothing. */
export function isFiltered({ devices }: Pick<IncusInstance, 'devices'>): boolean {
  const nic = devices?.[nicName];
  return nic === undefined || filters.every((filter) => nic[filter] === 'true');
}

export function networkOf({ devices }: Pick<IncusInstance, 'devices'>): string | null {
  return devices?.[nicName]?.['network'] ?? null;
}

/** Null if Incus has not assigned one yet. */
export function macOf({ config, devices }: Pick<IncusInstance, 'config' | 'devices'>): string | null {
  const mac = devices?.[nicName]?.['hwaddr'] ?? config?.[`volatile.${nicName}.hwaddr`] ?? '';
  return /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(mac) ? mac : null;
}

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
    // No profile, so that the body defines the machine completely.
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
      // With its own range of user ids, a process that escapes one container owns nothing of another.
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

/** The first difference between instance and spec, for operators; null if there is none. */
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
  return `its ${what} is ${JSON.stringify(has ?? null)} instead of ${JSON.stringify(wanted)}`;
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

/** A row whose member does not respond has no config; it only proves that the instance exists. */
export function isUnreachable(instance: IncusInstance): boolean {
  return instance.status_code === statusError && (instance.config === null || instance.config === undefined);
}

export function isReady(instance: IncusInstance): boolean {
  return instance.config?.[configKeys.ready] !== undefined;
}

/** If so, its disk may contain tenant data, and the operating system may have stored its MAC. */
export function hasRun(instance: IncusInstance): boolean {
  const last = instance.config?.['volatile.last_state.power'];
  return isOn(instance) || (instance.last_used_at ?? '') > '1971' || last === 'RUNNING';
}

/** Its disk cannot contain tenant data. */
export function isNeverStarted(instance: IncusInstance): boolean {
  return !hasRun(instance) && !isReady(instance);
}

/** Incus reports "stopped" until a start has ended, so `isUnderWay` is needed. */
function powerOf(
  instance: IncusInstance,
  isUnderWay: boolean,
): { readonly power: MachinePower; readonly detail: string | null } {
  if (!isReady(instance)) return { power: 'changing', detail: 'being created, or incomplete after a crash' };
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

/** Only the assigned addresses pass the filters. Older machines report those inside, which a tenant can add to. */
function privateIpsOf({ devices, state }: IncusInstance): string[] {
  const nic = devices?.[nicName] ?? {};
  const assigned = [nic['ipv4.address'] ?? 'none', nic['ipv6.address'] ?? 'none'].filter(
    (address) => address !== 'none',
  );
  return nic['security.ipv4_filtering'] === 'true' ? assigned : globalAddresses(state);
}

/** The assigned nic comes first. */
function globalAddresses(state: IncusState | null | undefined): string[] {
  const { [nicName]: own, ...others } = state?.network ?? {};
  return [...(own === undefined ? [] : [own]), ...Object.values(others)]
    .flatMap((nic) => nic.addresses ?? [])
    .filter(({ scope }) => scope === 'global')
    .map(({ address }) => address);
}

export interface ObservedInstance {
  readonly instance: IncusInstance;
  /** Whether an operation is in progress; read only for instances that are reported as off. */
  readonly isUnderWay: boolean;
}

/** From the project, or from the annotation if all machines share one. Null if the instance is not owned. */
function ownerOf(instance: IncusInstance, project: string | null): MachineRef | null {
  if (project === null) return parseMachineRef(instance.name, instance.project);
  const externalId = externalIdFrom(instance, project);
  const orgId = parseId('org', instance.config?.[configKeys.org] ?? '');
  return externalId === null || orgId === null ? null : { externalId, orgId };
}

/** A valid Unix user name. It becomes part of a command that tenants paste, so a daemon must not choose its text. */
const userPattern = /^[a-z_][a-z0-9_-]{0,31}$/;

/** The annotation has the user of machines that were created under other settings. */
export function userIn(
  config: Readonly<Record<string, string>>,
  settings: Pick<IncusSettings, 'sshUser'>,
): string {
  const marked = config[configKeys.sshUser] ?? '';
  return userPattern.test(marked) ? marked : settings.sshUser;
}

/** Null if the instance is not owned. */
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

/** Incus reports 0 for unknown values of a machine that is off, and -1 elsewhere. */
function countOrNull(value: number | null | undefined, isRunning: boolean): number | null {
  return isRunning && typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** For values that no running machine has at 0: without an agent in a VM, Incus reports 0. */
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
    // Incus does not measure GPUs.
    gpus: null,
  };
}
