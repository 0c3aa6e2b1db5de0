import type { RentalAction, RentalState, Scope } from '@millrace/contract';
import type { PortMapping } from '@millrace/compute';
import type { Actor, Mode } from '@millrace/platform/envelope';
import type {
  AllocationId,
  ClusterId,
  HoldId,
  KeyId,
  NodeId,
  OrgId,
  RentalId,
  UserId,
} from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';
import type { FleetGpuType } from '../../fleet/index.ts';
import type { MoneyCause } from '../../ledger/index.ts';
import type { BilledResource } from '../../metering/index.ts';
import type { FrozenPrice } from '../../prices/index.ts';

/** Types of rentals, their machines, terms and steps, shared by all folders of this feature. */

export type RentalKind = 'virtual-machine' | 'bare-metal' | 'instance';

export const rentalsActor: Actor = { kind: 'system', id: 'rentals' };

export const SSH_PORT = 22;

/** The one operation in progress. `release` overrides the others. */
export type RentalTask = 'provision' | 'stop' | 'start' | 'reboot' | 'release';

export type Power = 'on' | 'off' | 'changing';

export interface IdleRule {
  readonly afterSeconds: number;
  readonly action: 'stop' | 'terminate';
}

export interface TaskOptions {
  /** Stop: also release the GPUs. */
  readonly release?: boolean;
  /** Reboot: force it at once. */
  readonly force?: boolean;
  /** Stop: the cause, if the tenant did not request the stop. */
  readonly because?: 'balance' | 'budget' | 'idle';
}

export interface PublicIdentity {
  readonly instanceId: string;
  readonly clusterName: string;
  readonly nodeName: string;
}

/** A private cloud as the operator entered it. It runs under a contract and outside every engine. */
export interface PrivateCloud {
  readonly nodes: readonly PrivateCloudNode[];
  readonly sshUser: string;
  readonly sshPort: number;
  readonly gpuModel: string | null;
  readonly location: string | null;
  readonly salesContractExternalId: string | null;
  /** When the operator hands it over, as RFC 3339. */
  readonly startsAt: string;
}

export interface PrivateCloudNode {
  readonly role: 'login' | 'head' | 'compute';
  readonly hostname: string | null;
  readonly publicIp: string | null;
  readonly privateIp: string;
}

/** The owner of a machine that the operator does not own. Gets a part of the tenant's payments. */
export interface RentalSupplier {
  readonly orgId: OrgId;
  /** The supplier's part of the hourly rate of all GPUs. */
  readonly ratePerHour: NanoUsd;
}

/** Fields that can change and are shown in lists. */
interface ShownRentalState {
  readonly providerId: string;
  readonly name: string | null;
  readonly label: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly monitoring: boolean;
  readonly convertOnExpiry: boolean;
  readonly status: RentalState;
  readonly statusReason: string | null;
  readonly statusSince: Date;
  readonly power: Power;
  readonly gpuHeld: boolean;
  readonly attempt: number;
  readonly billingPausedAt: Date | null;
  readonly updatedAt: Date | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly endReason: string | null;
  readonly expiresAt: Date | null;
  readonly maxNanoUsd: NanoUsd | null;
}

/** Fields that can change. The database rejects changes of all others. */
export interface RentalFields extends ShownRentalState {
  readonly userData: string | null;
  readonly task: RentalTask | null;
  readonly taskOptions: TaskOptions;
  readonly taskDeadlineAt: Date | null;
  readonly firstAttempt: number;
  readonly allocationId: AllocationId | null;
  readonly unhealthySince: Date | null;
  readonly endAcceptedAt: Date | null;
  readonly idle: IdleRule | null;
  readonly expiryNotifiedAt: Date | null;
  readonly nextActionAt: Date | null;
  readonly deadlineAt: Date | null;
  readonly transitions: number;
  readonly steps: number;
}

/** Fields shown in lists: without user data, which would make a page of 200 too large. */
export interface RentalSummary extends ShownRentalState {
  readonly id: RentalId;
  readonly wireId: number;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly kind: RentalKind;
  readonly userId: UserId;
  readonly region: string;
  readonly gpuType: FleetGpuType;
  readonly nodeCount: number;
  readonly gpuCount: number;
  readonly connectionType: 'ethernet' | 'infiniband';
  readonly image: string | null;
  readonly customPorts: readonly number[];
  readonly diskPrice: FrozenPrice | null;
  /** Null for rentals that an engine runs. */
  readonly privateCloud: PrivateCloud | null;
  readonly createdAt: Date;
}

export interface Rental extends RentalSummary, RentalFields {
  readonly keyId: KeyId | null;
  readonly gpusPerNode: number;
  readonly cuda: number | null;
  readonly sshKeys: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly supplier: RentalSupplier | null;
  /** Null unless the rental is an instance. */
  readonly publicIdentity: PublicIdentity | null;
  readonly version: number;
}

/**
 * `wanted`: the engine might have the machine. `made`: it exists with the readiness key. `proven`: the readiness check
 * passed. `open`: the tenant has access and the readiness key is refused. `doomed`: marked for deletion. `gone`: the engine
 * reported its absence twice.
 */
export type MachineStage = 'wanted' | 'made' | 'proven' | 'open' | 'doomed' | 'gone';

interface MachineLayout {
  readonly position: number;
  readonly externalId: string;
  readonly gpuAddresses: readonly string[];
  readonly ports: readonly PortMapping[];
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly diskGb: number;
}

export interface ShownMachine extends MachineLayout {
  readonly state: MachineStage;
  readonly address: string | null;
  readonly privateIp: string | null;
  readonly sshUser: string | null;
  readonly hostKey: string | null;
}

export interface NewMachine extends MachineLayout {
  readonly rentalId: RentalId;
  readonly attempt: number;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly allocationId: AllocationId | null;
  readonly clusterId: ClusterId;
  readonly nodeId: NodeId;
}

export interface RentalMachine extends NewMachine, ShownMachine {
  /** The engine's name of the node. */
  readonly nodeName: string;
  /** Sealed. */
  readonly proofKey: string | null;
  /** SSH accepted the login before the engine had finished the start, so the start can still fail. */
  readonly starting: boolean;
  readonly cutAt: Date | null;
  readonly absentSeen: number;
  readonly confirmedDeletedAt: Date | null;
  readonly tries: number;
  readonly nextTryAt: Date | null;
  readonly terminatingSince: Date | null;
  readonly lastError: string | null;
}

export interface RentalTerm {
  readonly seq: number;
  readonly termType: 'on-demand' | 'reserved' | 'private-cloud';
  readonly price: FrozenPrice;
  /** The hold created when the term was accepted, until its meter takes the hold over. */
  readonly holdId: HoldId | null;
  readonly meterName: string;
  /** Null until the machine has passed its readiness check. */
  readonly effectiveAt: Date | null;
  readonly endsAt: Date | null;
}

export type ProvisioningStepStatus = 'running' | 'done' | 'failed' | 'undone';

export interface ProvisioningStep {
  readonly seq: number;
  readonly attempt: number;
  readonly name: string;
  readonly status: ProvisioningStepStatus;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly message: string | null;
}

/** The complete input of planning. */
export interface RentalView {
  readonly rental: Rental;
  /** Machines that are not `gone`, ordered by attempt and position. */
  readonly machines: readonly RentalMachine[];
  readonly terms: readonly RentalTerm[];
}

export type RentalKey = Pick<Rental, 'orgId' | 'id'>;

/** The input of everything that computes when a rental ends. */
export type RentalWithTerms = Pick<RentalView, 'rental' | 'terms'>;

/** The scope required to create or terminate a rental of the kind. */
export function scopeOf(kind: RentalKind): Scope {
  return kind === 'instance' ? 'marketplace:write' : 'rentals:write';
}

/** Whether a rental must not move to another host. A tenant chose the machine of an instance by its price and properties. */
export function isPinnedToHost({ kind }: Pick<Rental, 'kind'>): boolean {
  return kind === 'instance';
}

/**
 * Whether the rental can be stopped with its GPUs released. Several machines would each need free GPUs where their disk is; the
 * owner of an instance's host is paid for GPUs only; and the GPUs of bare metal come with the node's disk, which is wiped for the
 * next tenant.
 */
export function isReleasable({ kind, nodeCount }: Pick<Rental, 'kind' | 'nodeCount'>): boolean {
  return kind === 'virtual-machine' && nodeCount === 1;
}

export function rentalResourceOf(rental: Pick<Rental, 'wireId' | 'publicIdentity'>): {
  readonly kind: string;
  readonly id: string;
} {
  const { wireId, publicIdentity } = rental;
  return publicIdentity === null
    ? { kind: 'rental', id: String(wireId) }
    : { kind: 'instance', id: publicIdentity.instanceId };
}

export function causeOfRental(rental: Pick<Rental, 'kind' | 'wireId'>): MoneyCause {
  return { kind: rental.kind === 'instance' ? 'instance' : 'rental', id: String(rental.wireId) };
}

export function billedRental(rental: Rental): BilledResource {
  const { orgId, mode, keyId } = rental;
  return { orgId, mode, keyId, cause: causeOfRental(rental) };
}

/** Machines of the current attempt that are not marked for deletion. */
export function currentMachinesOf(view: RentalView): readonly RentalMachine[] {
  return view.machines.filter(
    (machine) => machine.attempt === view.rental.attempt && machine.state !== 'doomed',
  );
}

export type { RentalAction, RentalState };
