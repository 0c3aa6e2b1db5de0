import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import { z } from 'zod';
import type { MachinePower, MachineRef, MachineView, MachineSpec, PortMapping } from '../driver.ts';
import type { IronicAllocation, IronicNode } from './ironic-schemas.ts';
import type { Patch } from './ironic-client.ts';
import { IronicError } from './ironic-errors.ts';
import type { IronicImage, IronicSettings } from './ironic-settings.ts';

// Converts a node to a machine. Pure.

/** Owner annotation in `extra` of a node and of an allocation. It stays until the node is wiped. */
const annotationKey = 'millrace_machine';
/** Id of the machine whose access was cut. Separate, so that a concurrent write of the annotation does not undo it. */
const cutKey = 'millrace_cut';
/** Key of the operator's notes in `extra`. */
const notesKey = 'millrace';
const pathOf = (key: string): string => `/extra/${key}`;

const annotationSchema = z.object({
  owner: z.string(),
  external_id: z.string(),
  org: z.string(),
  mode: z.string(),
  image: z.string(),
  cpu_count: z.number(),
  ram_mb: z.number(),
  disk_gb: z.number(),
  gpus: z.array(z.string()),
  labels: z.record(z.string(), z.string()),
  created_at: z.string(),
});

export type OwnerAnnotation = z.output<typeof annotationSchema>;

export function newAnnotation(spec: MachineSpec, owner: string, now: Date): OwnerAnnotation {
  return {
    owner,
    external_id: spec.externalId,
    org: spec.orgId,
    mode: spec.mode satisfies Mode,
    image: spec.image,
    cpu_count: spec.cpuCount,
    ram_mb: spec.ramMb,
    disk_gb: spec.diskGb,
    gpus: spec.gpuPciAddresses.toSorted(),
    labels: { ...spec.labels },
    created_at: now.toISOString(),
  };
}

export const toNodeExtra = (mark: OwnerAnnotation): Readonly<Record<string, OwnerAnnotation>> => ({
  [annotationKey]: mark,
});

/** Null if it is missing, invalid or of another installation. */
export function readAnnotation({ extra }: Pick<IronicNode, 'extra'>, owner: string): OwnerAnnotation | null {
  const mark = annotationSchema.safeParse(extra?.[annotationKey]);
  return mark.success && mark.data.owner === owner ? mark.data : null;
}

export const hasAnnotation = ({ extra }: Pick<IronicNode, 'extra'>): boolean =>
  extra?.[annotationKey] !== undefined;

export function isAnnotationOf(
  mark: Pick<OwnerAnnotation, 'external_id' | 'org'>,
  machine: MachineRef,
): boolean {
  return mark.external_id === machine.externalId && mark.org === machine.orgId;
}

/** Null if the machine matches the spec. */
export function differenceFromSpec(mark: OwnerAnnotation, spec: MachineSpec): string | null {
  if (mark.gpus.join() !== spec.gpuPciAddresses.toSorted().join()) return 'other GPUs';
  if (mark.cpu_count !== spec.cpuCount || mark.ram_mb !== spec.ramMb || mark.disk_gb !== spec.diskGb) {
    return 'another size';
  }
  return mark.image === spec.image ? null : 'another image';
}

/**
 * The state of a node that was allocated to a machine.
 *
 * - `held`: allocated, nothing deployed. `deploying`, `waiting`: being deployed; in `waiting` by the agent on the node.
 * `deployed`, `failed`: the result.
 * - `leaving`: being undeployed. `stuck`: that failed. `wiping`: its disks are being cleaned.
 * - `wiped`: free again; only the annotation is left. `unclean`: wiping failed, or an operator has taken the node.
 */
export type Phase =
  | 'held'
  | 'deploying'
  | 'waiting'
  | 'deployed'
  | 'failed'
  | 'leaving'
  | 'stuck'
  | 'wiping'
  | 'wiped'
  | 'unclean'
  | 'unknown';

const phases: ReadonlyMap<string, Phase> = new Map([
  ['deploying', 'deploying'],
  ['wait call-back', 'waiting'],
  ['active', 'deployed'],
  ['rescue', 'deployed'],
  ['rescuing', 'deployed'],
  ['rescue wait', 'deployed'],
  ['rescue failed', 'deployed'],
  ['unrescuing', 'deployed'],
  ['unrescue failed', 'deployed'],
  ['deploy failed', 'failed'],
  ['deleting', 'leaving'],
  ['error', 'stuck'],
  ['cleaning', 'wiping'],
  ['clean wait', 'wiping'],
  ['clean failed', 'unclean'],
  ['enroll', 'unclean'],
  ['verifying', 'unclean'],
  ['manageable', 'unclean'],
  ['inspecting', 'unclean'],
  ['inspect wait', 'unclean'],
  ['inspect failed', 'unclean'],
]);

export function phaseOf(node: IronicNode, externalId: string): Phase {
  if (node.provision_state === 'available') return node.instance_uuid === externalId ? 'held' : 'wiped';
  return phases.get(node.provision_state ?? '') ?? 'unknown';
}

export interface LocatedMachine {
  readonly node: IronicNode;
  readonly mark: OwnerAnnotation;
  readonly phase: Phase;
  readonly isCut: boolean;
}

export const isCut = ({ extra }: Pick<IronicNode, 'extra'>, externalId: string): boolean =>
  extra?.[cutKey] === externalId;

/** The owned machine on a node. The allocation has the same annotation, for the time (or crash) before the node has it. */
export function locateMachine(
  node: IronicNode,
  allocation: IronicAllocation | null,
  owner: string,
): LocatedMachine | null {
  const instance = node.instance_uuid ?? null;
  const mark = [
    readAnnotation(node, owner),
    allocation === null ? null : readAnnotation(allocation, owner),
  ].find(
    // An annotation of another machine than the allocated one was left by a deleted machine.
    (known) => known !== null && (instance === null || instance === known.external_id),
  );
  if (mark === undefined || mark === null) return null;
  const { external_id: id } = mark;
  return { node, mark, phase: phaseOf(node, id), isCut: isCut(node, id) };
}

/** Whether the machine still exists for callers; `wiped` and `unclean` nodes have none. */
export const exists = ({ phase }: Pick<LocatedMachine, 'phase'>): boolean =>
  phase !== 'wiped' && phase !== 'unclean';

/** Why the node cannot be allocated; null if it is free. */
export function unavailableReason(node: IronicNode): string | null {
  if (node.maintenance === true) {
    return `it is in maintenance: ${node.maintenance_reason ?? node.last_error ?? 'no reason given'}`;
  }
  if (node.provision_state !== 'available') return `it is ${node.provision_state ?? 'in no state'}`;
  if (isCleaningDisabled(node)) return 'it would not be wiped afterwards: its automated_clean is false';
  if ((node.instance_uuid ?? null) !== null) return 'another client has allocated it';
  if ((node.resource_class ?? '') === '') return 'it has no resource class';
  return isPowerKnown(node) ? null : 'its power state is unknown';
}

/** Ironic would release the node with the tenant's data on its disks. */
export const isCleaningDisabled = ({
  automated_clean: isCleaned,
}: Pick<IronicNode, 'automated_clean'>): boolean => isCleaned === false;

export function isPowerKnown({ power_state: state }: IronicNode): boolean {
  return state === 'power on' || state === 'power off';
}

/** Its data in Ironic may be outdated. */
export const hasNoConductor = (node: Pick<IronicNode, 'hasNoConductor'>): boolean =>
  node.hasNoConductor === true;

function powerOf({ node, phase }: LocatedMachine): MachinePower {
  switch (phase) {
    case 'deploying':
    case 'waiting':
    case 'leaving':
    case 'wiping':
      return 'changing';
    case 'deployed':
      if (hasNoConductor(node)) return 'error';
      if ((node.target_power_state ?? null) !== null) return 'changing';
      if (!isPowerKnown(node)) return 'error';
      return node.power_state === 'power on' ? 'on' : 'off';
    case 'held':
    case 'wiped':
    case 'unclean':
      return 'off';
    case 'failed':
    case 'stuck':
    case 'unknown':
      return 'error';
  }
}

function detailOf({ node, phase }: LocatedMachine, power: MachinePower): string | null {
  if (phase === 'held') return 'The node is allocated; nothing is deployed yet.';
  if (power === 'on' || power === 'off') return null;
  if (hasNoConductor(node)) return 'Ironic has no live conductor.';
  const state = `The node is ${node.provision_state ?? 'in no state'}, power ${node.power_state ?? 'unknown'}`;
  return (node.last_error ?? '') === '' ? `${state}.` : `${state}: ${node.last_error}`;
}

const notesSchema = z.object({
  address: z.string().nullish().catch(null),
  private_address: z.string().nullish().catch(null),
  fabric: z.string().nullish().catch(null),
  connection_type: z.enum(['ethernet', 'infiniband']).nullish().catch(null),
  network_data: z.record(z.string(), z.unknown()).nullish().catch(null),
  gpu_model: z.string().nullish().catch(null),
  gpus: z
    .array(z.object({ pci_address: z.string(), uuid: z.string().nullish() }))
    .nullish()
    .catch(null),
});

export type OperatorNotes = z.output<typeof notesSchema>;

/** The operator's notes from the enrolment of the node. */
export function readOperatorNotes({ extra }: Pick<IronicNode, 'extra'>): OperatorNotes {
  const notes = notesSchema.safeParse(extra?.[notesKey] ?? {});
  return notes.success ? notes.data : {};
}

/** The tenant has the whole address, so every port is open; only this one matters to the platform. */
const ssh: PortMapping = { internalPort: 22, externalPort: 22, protocol: 'tcp' };

export function viewOf(located: LocatedMachine, settings: IronicSettings): MachineView {
  const { node, mark } = located;
  const notes = readOperatorNotes(node);
  const power = powerOf(located);
  const createdAt = new Date(mark.created_at);
  return {
    externalId: mark.external_id,
    orgId: mark.org as OrgId,
    nodeName: node.uuid,
    power,
    detail: detailOf(located, power),
    gpuPciAddresses: mark.gpus,
    privateIps: (notes.private_address ?? null) === null ? [] : [notes.private_address ?? ''],
    address: notes.address ?? null,
    ports: located.isCut ? [] : [ssh],
    sshUser: settings.images[mark.image]?.sshUser ?? 'ubuntu',
    labels: mark.labels,
    createdAt: Number.isNaN(createdAt.getTime()) ? null : createdAt,
  };
}

/** Bare metal has no port mapping: ports keep their numbers. */
export function assertPortsUnmapped(ports: readonly PortMapping[]): void {
  const mapped = ports.find(({ internalPort, externalPort }) => internalPort !== externalPort);
  if (mapped === undefined) return;
  throw new IronicError(
    'refused',
    `Ironic maps no ports: ${mapped.internalPort} cannot be reached at ${mapped.externalPort}.`,
  );
}

/** One patch, so that everything is written at once before the deploy. */
export function deployPatch(mark: OwnerAnnotation, image: IronicImage): Patch {
  const info = {
    image_source: image.url,
    image_os_hash_algo: image.hash.algorithm,
    image_os_hash_value: image.hash.value,
    image_disk_format: image.diskFormat,
    image_type: 'whole-disk',
  };
  return [
    { op: 'add', path: pathOf(annotationKey), value: mark },
    { op: 'add', path: '/lessee', value: mark.org },
    { op: 'add', path: '/instance_info', value: info },
  ];
}

/** Without an image a late deploy of a `held` node must fail. */
export function accessCutPatch({ mark, phase }: LocatedMachine): Patch {
  return [
    { op: 'add', path: pathOf(annotationKey), value: mark },
    { op: 'add', path: pathOf(cutKey), value: mark.external_id },
    ...(phase === 'held' ? [{ op: 'add', path: '/instance_info', value: {} } as const] : []),
  ];
}

export function clearAnnotationPatch({ extra }: IronicNode): Patch {
  const keys = [annotationKey, cutKey].filter((key) => extra?.[key] !== undefined);
  return [
    ...keys.map((key) => ({ op: 'remove', path: pathOf(key) }) as const),
    { op: 'add', path: '/lessee', value: null },
  ];
}
