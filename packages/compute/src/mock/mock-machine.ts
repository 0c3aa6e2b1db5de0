import { msToSeconds } from '@millrace/platform/money';
import { DriverError } from '../driver-error.ts';
import type { MachineMetrics, MachinePower, MachineView, MachineSpec } from '../driver.ts';
import { seededBytes, seededInt } from './seeded-random.ts';
import { maxFaultMs, readInjectedFault } from './faults.ts';
import { sealHostKey } from './host-key.ts';

/** Its state is a function of this record, the seed and the time, without timers, so all processes agree. */
export interface MockMachine extends Omit<MachineSpec, 'hostKey'> {
  /** The private host key, encrypted with the seed, because records are in a database; null: generated. */
  readonly sealedHostKey: string | null;
  readonly createdAtMs: number;
  /** The engine died during `create`; nothing works until `create` is repeated. */
  readonly isHalfMade: boolean;
  readonly onSinceMs: number | null;
  readonly boots: number;
  /** Whether access was cut, which is permanent. */
  readonly isCut: boolean;
  readonly terminateAskedAtMs: number | null;
  /** Digests of the texts that `runUserData` started. */
  readonly userDataRuns: readonly string[];
  /** Calls about this machine, counted only for the fault `flaky`. */
  readonly calls: number;
}

export type MachineCall =
  | 'create'
  | 'describe'
  | 'start'
  | 'stop'
  | 'reboot'
  | 'setKeys'
  | 'setGpus'
  | 'runUserData'
  | 'setPorts'
  | 'cutAccess'
  | 'terminate'
  | 'consoleLog'
  | 'metrics'
  | 'exec';

export interface MockMachineState {
  readonly power: MachinePower;
  readonly detail: string | null;
  /** When the current boot started; null while it is off. */
  readonly onSinceMs: number | null;
  /** Whether SSH, commands and ports respond. */
  readonly isUp: boolean;
  /** Whether its ports are open at the node, even if nothing responds behind them. */
  readonly isWired: boolean;
}

export const sshUser = 'ubuntu';
const mebibyte = 1_048_576;
/** A row can hold one MiB of JSON, and PostgreSQL adds spaces. */
const maxRecordBytes = 1_000_000;

export function makeMachine(spec: MachineSpec, seed: string, nowMs: number): MockMachine {
  return {
    externalId: spec.externalId,
    orgId: spec.orgId,
    mode: spec.mode,
    nodeName: spec.nodeName,
    gpuPciAddresses: spec.gpuPciAddresses,
    cpuCount: spec.cpuCount,
    ramMb: spec.ramMb,
    diskGb: spec.diskGb,
    image: spec.image,
    hostname: spec.hostname,
    sshKeys: spec.sshKeys,
    userData: spec.userData,
    ports: spec.ports,
    labels: spec.labels,
    sealedHostKey: spec.hostKey === undefined ? null : sealHostKey(seed, spec.hostKey.privateKey),
    createdAtMs: nowMs,
    isHalfMade: false,
    onSinceMs: nowMs,
    boots: 1,
    isCut: false,
    terminateAskedAtMs: null,
    userDataRuns: [],
    calls: 0,
  };
}

/** Refuses a record that the machine store cannot hold; a retry would not help. */
export function assertRecordSize(machine: MockMachine): void {
  if (Buffer.byteLength(JSON.stringify(machine)) <= maxRecordBytes) return;
  throw new DriverError('refused', 'The keys, user data and labels of this machine are too long in total.');
}

/** Called before every change that could restore access. */
export function assertAccessNotCut(machine: MockMachine): void {
  if (!machine.isCut) return;
  throw new DriverError('conflict', 'Access to this machine was cut; it can only be terminated.');
}

export function powerOn(machine: MockMachine, nowMs: number): MockMachine {
  assertAccessNotCut(machine);
  return machine.onSinceMs === null ? { ...machine, onSinceMs: nowMs, boots: machine.boots + 1 } : machine;
}

export function powerOff(machine: MockMachine): MockMachine {
  return { ...machine, onSinceMs: null };
}

/** Whether the spec describes this machine. Access, name and labels may change; hardware must not. */
export function isSameMachine(machine: MockMachine, spec: MachineSpec): boolean {
  const gpus = (of: Pick<MachineSpec, 'gpuPciAddresses'>): string => of.gpuPciAddresses.toSorted().join();
  return (
    machine.nodeName === spec.nodeName &&
    machine.cpuCount === spec.cpuCount &&
    machine.ramMb === spec.ramMb &&
    machine.diskGb === spec.diskGb &&
    machine.image === spec.image &&
    gpus(machine) === gpus(spec)
  );
}

/** Two to six seconds, from the seed, unless a fault sets the time. */
export function bootMsOf(machine: MockMachine, seed: string): number {
  const fault = readInjectedFault(machine.labels);
  if (fault?.name === 'slow-boot') return fault.after_ms;
  return seededInt(2_000, 6_000, seed, 'boot', machine.externalId, machine.boots);
}

function hostOutage(machine: MockMachine, seed: string): { fromMs: number; untilMs: number } | null {
  const fault = readInjectedFault(machine.labels);
  if (fault?.name !== 'host-dies') return null;
  const fromMs = machine.createdAtMs + bootMsOf({ ...machine, boots: 1 }, seed) + fault.after_ms;
  return { fromMs, untilMs: fromMs + fault.for_ms };
}

export function stateAt(machine: MockMachine, seed: string, nowMs: number): MockMachineState {
  const still = (power: MachinePower, detail: string | null): MockMachineState => ({
    power,
    detail,
    onSinceMs: null,
    isUp: false,
    isWired: false,
  });
  if (machine.terminateAskedAtMs !== null) return still('changing', 'The disk is being deleted.');
  if (machine.isHalfMade) return still('off', 'The machine is incomplete.');
  const away = hostOutage(machine, seed);
  if (away !== null && nowMs >= away.fromMs && nowMs < away.untilMs) {
    return still('error', 'The host does not respond.');
  }
  if (machine.onSinceMs === null) return still('off', null);
  // A host that returns starts the machines that ran on it.
  const wasLost = away !== null && machine.onSinceMs < away.fromMs && nowMs >= away.untilMs;
  const onSinceMs = wasLost ? away.untilMs : machine.onSinceMs;
  const isBooted = nowMs >= onSinceMs + bootMsOf(machine, seed);
  if (isBooted && readInjectedFault(machine.labels)?.name === 'boot-fails') {
    const detail = 'The system did not boot: no root device.';
    return { power: 'error', detail, onSinceMs, isUp: false, isWired: true };
  }
  return { power: 'on', detail: isBooted ? null : 'Starting.', onSinceMs, isUp: isBooted, isWired: true };
}

/** The error of an injected fault or of a deletion in progress; null if the call may run. */
export function injectedErrorAt(
  machine: MockMachine,
  call: MachineCall,
  seed: string,
  nowMs: number,
): DriverError | null {
  const fault = readInjectedFault(machine.labels);
  if (fault?.name === 'engine-silent') {
    const fromMs = machine.createdAtMs + fault.after_ms;
    const isSilent = nowMs >= fromMs && nowMs < fromMs + fault.for_ms;
    if (isSilent) return new DriverError('unavailable', 'The mock engine does not respond for this machine.');
  }
  const isYoung = nowMs < machine.createdAtMs + maxFaultMs;
  if (fault?.name === 'flaky' && isYoung && machine.calls % fault.every === 0) {
    return new DriverError('unavailable', 'The mock engine lost this call (fault flaky).');
  }
  const away = hostOutage(machine, seed);
  if (away !== null && nowMs >= away.fromMs && nowMs < away.untilMs && call !== 'describe') {
    return new DriverError('unavailable', 'The host of this machine does not respond.');
  }
  const isEnding = machine.terminateAskedAtMs !== null;
  const needsIt = call !== 'describe' && call !== 'cutAccess' && call !== 'terminate';
  return isEnding && needsIt ? new DriverError('busy', 'The machine is being deleted.') : null;
}

/** Whether the deletion is still stuck. */
export function isStuck(machine: MockMachine, requestedAtMs: number, nowMs: number): boolean {
  const fault = readInjectedFault(machine.labels);
  return fault?.name === 'stuck-terminate' && nowMs < requestedAtMs + fault.for_ms;
}

/** The GPUs that the operating system sees; a fault can hide some. */
export function visibleGpus(machine: MockMachine): readonly string[] {
  const fault = readInjectedFault(machine.labels);
  if (fault?.name !== 'wrong-gpu-count') return machine.gpuPciAddresses;
  return machine.gpuPciAddresses.slice(0, Math.max(0, machine.gpuPciAddresses.length - fault.missing));
}

export function viewOf(machine: MockMachine, address: string, seed: string, nowMs: number): MachineView {
  const { power, detail } = stateAt(machine, seed, nowMs);
  const [a, b, c] = seededBytes(seed, 'ip', machine.externalId);
  return {
    externalId: machine.externalId,
    orgId: machine.orgId,
    nodeName: machine.nodeName,
    power,
    detail,
    gpuPciAddresses: machine.gpuPciAddresses,
    privateIps: machine.isHalfMade ? [] : [`10.${a ?? 0}.${b ?? 0}.${c ?? 0}`],
    address,
    ports: machine.isHalfMade ? [] : machine.ports,
    sshUser,
    labels: machine.labels,
    createdAt: new Date(machine.createdAtMs),
  };
}

export function consoleAt(machine: MockMachine, seed: string, nowMs: number): string {
  const { onSinceMs, isUp, power } = stateAt(machine, seed, nowMs);
  if (machine.isHalfMade) return '';
  // If it is off: the output of the last boot.
  const ageMs = onSinceMs === null ? Number.POSITIVE_INFINITY : nowMs - onSinceMs;
  const bootMs = bootMsOf(machine, seed);
  const lines: readonly [atMs: number, text: string][] = [
    [0, 'Linux version 6.8.0-mock (simulated machine)'],
    [12, `smp: Brought up 1 node, ${machine.cpuCount} CPUs`],
    [31, `Memory: ${machine.ramMb * 1_024}K available`],
    ...visibleGpus(machine).map((address, index): [number, string] => [
      200 + 40 * index,
      `nvidia ${address}: enabling device (0000 -> 0002)`,
    ]),
    [900, 'EXT4-fs (vda1): mounted filesystem with ordered data mode'],
    [1_400, `systemd[1]: Hostname set to <${machine.hostname}>.`],
  ];
  const written = lines
    .filter(([atMs]) => ageMs >= atMs)
    .map(([atMs, text]) => `[${msToSeconds(atMs).toFixed(6).padStart(12)}] ${text}\n`);
  if (onSinceMs === null) written.push('reboot: Power down\n');
  else if (power === 'error') written.push('Kernel panic - not syncing: VFS: Unable to mount root fs\n');
  if (isUp) written.push(`\nstarted in ${bootMs} ms\n${machine.hostname} login: `);
  return written.join('');
}

const emptyMetrics = {
  cpuSeconds: null,
  ramUsedBytes: null,
  diskUsedBytes: null,
  networkInBytes: null,
  networkOutBytes: null,
  gpus: null,
};

export function metricsAt(machine: MockMachine, seed: string, nowMs: number): MachineMetrics {
  const { onSinceMs } = stateAt(machine, seed, nowMs);
  const at = new Date(nowMs);
  const upMs = onSinceMs === null ? 0 : nowMs - onSinceMs;
  if (upMs <= 0) return { at, ...emptyMetrics };
  const minute = Math.floor(msToSeconds(upMs)) >> 6;
  const level = (from: number, to: number, what: string): number =>
    seededInt(from, to, seed, what, machine.externalId, machine.boots, minute);
  // Counters are a rate per boot times its age, so they only grow. Levels change every minute.
  const rate = (from: number, to: number, what: string): number =>
    seededInt(from, to, seed, what, machine.externalId, machine.boots);
  const seconds = msToSeconds(upMs);
  return {
    at,
    cpuSeconds: seconds * machine.cpuCount * 0.01 * rate(5, 60, 'cpu'),
    ramUsedBytes: Math.ceil(machine.ramMb * mebibyte * 0.01 * level(5, 70, 'ram')),
    diskUsedBytes: 900 * mebibyte + level(0, 4_096, 'disk') * 4_096,
    networkInBytes: Math.ceil(seconds * rate(2_000, 90_000, 'in')),
    networkOutBytes: Math.ceil(seconds * rate(1_000, 40_000, 'out')),
    gpus: visibleGpus(machine).map((pciAddress) => ({
      pciAddress,
      utilisationPercent: level(0, 100, pciAddress),
    })),
  };
}
