import { parseId } from '@millrace/platform/ids';
import { msToSeconds, nanosecondsToMs } from '@millrace/platform/money';
import type { MachineMetrics, MachinePower, MachineRef, MachineView, MachineWish } from '../driver.ts';
import { vendorData } from './cloud-init.ts';
import type { IncusDevices, IncusInstance, IncusState } from './incus-answers.ts';
import { IncusError } from './incus-errors.ts';
import { instanceName, machineIdIn, refOf } from './incus-names.ts';
import { portDevices, portsOf } from './incus-ports.ts';
import type { IncusSettings } from './incus-settings.ts';

// A wish as an instance of Incus, and an instance as a view. Nothing here speaks to anybody.

/** Where we keep what Incus has no place for. */
export const keys = {
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
export function refuseIfCut(config: IncusInstance['config']): void {
  if (config?.[keys.cut] === undefined) return;
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

function sizeOf(wish: MachineWish): { readonly cpu: string; readonly memory: string; readonly disk: string } {
  return { cpu: String(wish.cpuCount), memory: `${wish.ramMb}MiB`, disk: `${wish.diskGb}GiB` };
}

export interface InstanceBody {
  readonly name: string;
  readonly type: IncusSettings['instanceType'];
  readonly source: { readonly type: 'image'; readonly fingerprint: string };
  readonly profiles: readonly string[];
  readonly config: Readonly<Record<string, string>>;
  readonly devices: IncusDevices;
}

/** What the wish leaves to the cluster: which image its name stands for, where ports are opened, a VM's own address. */
export interface InstancePlace {
  readonly fingerprint: string;
  readonly listenAddress: string;
  readonly nicAddress: string | null;
  /** Its card is on a bridge, as those of others on the host are. */
  readonly isBridged: boolean;
}

/**
 * On a bridge everybody reaches everybody, and who pretends to be another gets its traffic. Cards that are set apart reach
 * the host and what is beyond it, and no other machine, whosever it is.
 */
const apart = { 'security.port_isolation': 'true', 'security.mac_filtering': 'true' };

export function instanceBody(
  wish: MachineWish,
  { fingerprint, listenAddress, nicAddress, isBridged }: InstancePlace,
  settings: IncusSettings,
): InstanceBody {
  const size = sizeOf(wish);
  const labels = Object.entries(wish.labels).map(([key, value]) => [`${keys.label}${key}`, value] as const);
  return {
    name: instanceName(wish.externalId),
    type: settings.instanceType,
    source: { type: 'image', fingerprint },
    // No profile: what a machine is made of stands in its own body, and nothing is added behind our back.
    profiles: [],
    config: {
      ...Object.fromEntries(labels),
      [keys.owner]: settings.owner,
      [keys.externalId]: wish.externalId,
      [keys.org]: wish.orgId,
      [keys.mode]: wish.mode,
      [keys.image]: wish.image,
      [keys.sshUser]: settings.sshUser,
      'limits.cpu': size.cpu,
      'limits.memory': size.memory,
      ...(settings.instanceType === 'virtual-machine' && { 'security.secureboot': 'false' }),
      ...(settings.allowsNesting && settings.instanceType === 'container' && { 'security.nesting': 'true' }),
      'cloud-init.vendor-data': vendorData(wish, settings.sshUser),
      ...(wish.userData !== null && { 'cloud-init.user-data': wish.userData }),
    },
    devices: {
      root: { type: 'disk', path: '/', pool: settings.storagePool, size: size.disk },
      [nicName]: {
        type: 'nic',
        name: nicName,
        network: settings.network,
        ...(isBridged && apart),
        ...(nicAddress !== null && { 'ipv4.address': nicAddress }),
      },
      ...(settings.instanceType === 'virtual-machine' && cloudInitDisk),
      ...gpuDevices(wish.gpuPciAddresses),
      ...portDevices({}, wish.ports, listenAddress, settings.instanceType),
    },
  };
}

/** In what the instance differs from the wish, for people; null if it is the one that was asked for. */
export function differenceFrom(instance: IncusInstance, wish: MachineWish, nodeName: string): string | null {
  const config = instance.config ?? {};
  const devices = instance.devices ?? {};
  const size = sizeOf(wish);
  const pairs: readonly (readonly [string, string | undefined, string])[] = [
    ['node', nodeName, wish.nodeName],
    ['organisation', config[keys.org], wish.orgId],
    ['mode', config[keys.mode], wish.mode],
    ['image', config[keys.image], wish.image],
    ['CPUs', config['limits.cpu'], size.cpu],
    ['memory', config['limits.memory'], size.memory],
    ['disk', devices['root']?.['size'], size.disk],
    ['GPUs', gpusOf(devices).join(' '), wish.gpuPciAddresses.toSorted().join(' ')],
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
export function isOutOfReach(instance: IncusInstance): boolean {
  return instance.status_code === statusError && (instance.config === null || instance.config === undefined);
}

/** Made to the end, by whoever made it. */
export function isReady(instance: IncusInstance): boolean {
  return instance.config?.[keys.ready] !== undefined;
}

/** Never started, so nobody can have put anything on its disk. */
export function isUntouched(instance: IncusInstance): boolean {
  const config = instance.config ?? {};
  const hasRun = (instance.last_used_at ?? '') > '1971' || config['volatile.last_state.power'] === 'RUNNING';
  return !isOn(instance) && !hasRun && !isReady(instance);
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

/** Those of the card that it was given come first. */
function globalAddresses(state: IncusState | null | undefined): string[] {
  const { [nicName]: own, ...others } = state?.network ?? {};
  return [...(own === undefined ? [] : [own]), ...Object.values(others)]
    .flatMap((card) => card.addresses ?? [])
    .filter(({ scope }) => scope === 'global')
    .map(({ address }) => address);
}

export interface Observed {
  readonly instance: IncusInstance;
  /** Whether the engine is doing something with it. Asked for only of those that are said to be off. */
  readonly isUnderWay: boolean;
}

/** Whose machine it is: told by its project, or by its mark where all machines are in one. Null for what is not ours. */
function ownerOf(instance: IncusInstance, project: string | null): MachineRef | null {
  if (project === null) return refOf(instance.name, instance.project);
  const externalId = machineIdIn(instance, project);
  const orgId = parseId('org', instance.config?.[keys.org] ?? '');
  return externalId === null || orgId === null ? null : { externalId, orgId };
}

/** As Unix has them. It stands in a command that tenants are shown and paste, so a daemon does not word it. */
const userPattern = /^[a-z_][a-z0-9_-]{0,31}$/;

/** Who logs in: the mark says it of machines that were made while the settings had another. */
export function userIn(
  config: Readonly<Record<string, string>>,
  settings: Pick<IncusSettings, 'sshUser'>,
): string {
  const marked = config[keys.sshUser] ?? '';
  return userPattern.test(marked) ? marked : settings.sshUser;
}

/** Null for what is not ours. */
export function viewOf(
  { instance, isUnderWay }: Observed,
  node: { readonly name: string; readonly address: string | null },
  settings: Pick<IncusSettings, 'sshUser' | 'owner' | 'project'>,
): MachineView | null {
  const config = instance.config ?? {};
  const ref = ownerOf(instance, settings.project);
  if (ref === null || config[keys.owner] !== settings.owner) return null;
  const devices = instance.devices ?? {};
  const labels = Object.entries(config).filter(([key]) => key.startsWith(keys.label));
  return {
    ...ref,
    ...powerOf(instance, isUnderWay),
    nodeName: node.name,
    gpuPciAddresses: gpusOf(devices),
    privateIps: globalAddresses(instance.state),
    address: node.address,
    ports: portsOf(devices),
    sshUser: userIn(config, settings),
    labels: Object.fromEntries(labels.map(([key, value]) => [key.slice(keys.label.length), value])),
    createdAt: dateOf(instance.created_at),
  };
}

/** A count that Incus has; it writes 0 for what it does not know of a machine that is off, and -1 elsewhere. */
function known(value: number | null | undefined, isRunning: boolean): number | null {
  return isRunning && typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** As `known`, of what every machine that runs has used some of: without an agent in a VM, Incus writes 0 here too. */
function used(value: number | null | undefined, isRunning: boolean): number | null {
  return value === 0 ? null : known(value, isRunning);
}

function total(values: readonly (number | null)[]): number | null {
  const counted = values.filter((value) => value !== null);
  return counted.length === 0 ? null : counted.reduce((sum, value) => sum + value, 0);
}

export function metricsOf(state: IncusState, at: Date): MachineMetrics {
  const isRunning = statusOn.has(state.status_code);
  const cards = Object.values(state.network ?? {}).filter(({ type }) => type !== 'loopback');
  const cpuNs = used(state.cpu?.usage, isRunning);
  const disks = Object.values(state.disk ?? {}).map(({ usage }) => known(usage, (usage ?? 0) > 0));
  return {
    at,
    cpuSeconds: cpuNs === null ? null : msToSeconds(nanosecondsToMs(cpuNs)),
    ramUsedBytes: used(state.memory?.usage, isRunning),
    diskUsedBytes: total(disks),
    networkInBytes: total(cards.map(({ counters }) => known(counters?.bytes_received, isRunning))),
    networkOutBytes: total(cards.map(({ counters }) => known(counters?.bytes_sent, isRunning))),
    // Incus hands GPUs over and does not look inside them.
    gpus: null,
  };
}
