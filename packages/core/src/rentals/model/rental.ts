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

/** The words of this feature as values. A rental is a machine sold to a tenant, whichever of three kinds it is. */

export type RentalKind = 'virtual-machine' | 'bare-metal' | 'instance';

export const rentalsActor: Actor = { kind: 'system', id: 'rentals' };

export const SSH_PORT = 22;

/** What is being done to a rental: one thing at a time. `release` overrides the others. */
export type RentalTask = 'provision' | 'stop' | 'start' | 'reboot' | 'release';

export type Power = 'on' | 'off' | 'changing';

export interface IdleRule {
  readonly afterSeconds: number;
  readonly action: 'stop' | 'terminate';
}

/** What a stop, a start or a reboot was asked with. */
export interface TaskOptions {
  /** Stop: give the GPUs back as well. */
  readonly release?: boolean;
  /** Reboot: do not wait for the machine to obey. */
  readonly force?: boolean;
  /** Stop: who asked for it, where that was not the tenant. */
  readonly because?: 'balance' | 'budget' | 'idle';
}

/** What an instance is called where tenants see it: by its name, on its machine, in its cluster. */
export interface PublicIdentity {
  readonly instanceId: string;
  readonly clusterName: string;
  readonly nodeName: string;
}

/** What the operator has told of a private cloud: machines that are run under a contract, outside of every engine. */
export interface PrivateCloud {
  readonly nodes: readonly PrivateCloudNode[];
  readonly sshUser: string;
  readonly sshPort: number;
  readonly gpuModel: string | null;
  readonly location: string | null;
  readonly salesContractExternalId: string | null;
  /** From when it is handed over, as RFC 3339. */
  readonly startsAt: string;
}

export interface PrivateCloudNode {
  readonly role: 'login' | 'head' | 'compute';
  readonly hostname: string | null;
  readonly publicIp: string | null;
  readonly privateIp: string;
}

/** Who is paid for a machine that is not the operator's own: a part of what its tenant pays. */
export interface RentalSupplier {
  readonly orgId: OrgId;
  /** Its part of the rate of all GPUs. */
  readonly ratePerHour: NanoUsd;
}

/** What may change of a rental and is shown. */
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

/** What may change of a rental. The database refuses the rest. */
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

/** What is shown of a rental: a page of 200 must not carry everybody's user data, nor what only reconciling needs. */
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
  /** Null of all that engines of ours run. */
  readonly privateCloud: PrivateCloud | null;
  readonly createdAt: Date;
}

export interface Rental extends RentalSummary, RentalFields {
  readonly keyId: KeyId | null;
  readonly gpusPerNode: number;
  readonly cuda: number | null;
  readonly sshKeys: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Agreed when it was accepted. */
  readonly supplier: RentalSupplier | null;
  /** Null of rentals that are no instances. */
  readonly publicIdentity: PublicIdentity | null;
  readonly version: number;
}

/**
 * `wanted`: the engine may or may not have it. `made`: it exists, with the platform's key. `proven`: seen to be as sold.
 * `open`: the tenant can get in, and that key is refused. `doomed`: to be removed. `gone`: the engine said so twice.
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

/** What is shown of a machine. */
export interface ShownMachine extends MachineLayout {
  readonly state: MachineStage;
  readonly address: string | null;
  readonly privateIp: string | null;
  readonly sshUser: string | null;
  readonly hostKey: string | null;
}

/** A machine as it is ordered at its engine. */
export interface NewMachine extends MachineLayout {
  readonly rentalId: RentalId;
  readonly attempt: number;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly allocationId: AllocationId | null;
  readonly clusterId: ClusterId;
  readonly nodeId: NodeId;
}

/** One machine of a rental at its engine. */
export interface RentalMachine extends NewMachine, ShownMachine {
  /** The engine's own name of the node. */
  readonly nodeName: string;
  /** Sealed. */
  readonly proofKey: string | null;
  /** It let us in before its engine had ended its start: whether that ends well is still to be seen. */
  readonly starting: boolean;
  readonly cutAt: Date | null;
  readonly absentSeen: number;
  readonly confirmedDeletedAt: Date | null;
  readonly tries: number;
  readonly nextTryAt: Date | null;
  readonly terminatingSince: Date | null;
  readonly lastError: string | null;
}

/** What a rental is paid by. */
export interface RentalTerm {
  readonly seq: number;
  readonly termType: 'on-demand' | 'reserved' | 'private-cloud';
  readonly price: FrozenPrice;
  /** What was set aside when it was accepted, until its meter takes it over. */
  readonly holdId: HoldId | null;
  readonly meterName: string;
  /** Null until the machine is proven usable. */
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

/** All that decides what is to be done next. */
export interface RentalView {
  readonly rental: Rental;
  /** Those that are not gone, in the order of attempt and position. */
  readonly machines: readonly RentalMachine[];
  readonly terms: readonly RentalTerm[];
}

/** Enough of a rental to find its row. */
export type RentalKey = Pick<Rental, 'orgId' | 'id'>;

/** What decides how long a rental lasts. */
export type RentalWithTerms = Pick<RentalView, 'rental' | 'terms'>;

/** The scope that whoever makes or ends one needs. */
export function scopeOf(kind: RentalKind): Scope {
  return kind === 'instance' ? 'marketplace:write' : 'rentals:write';
}

/**
 * Whether no other host may stand in for one that fails. An instance is one machine that its tenant chose, by its price and
 * what it is: on another it would be another thing.
 */
export function isPinnedToHost({ kind }: Pick<Rental, 'kind'>): boolean {
  return kind === 'instance';
}

/**
 * Whether it can be switched off and wait on its host without GPUs. Several machines would have to find room again where each
 * has its disk, the disk of an instance lies on a host whose owner is paid for its GPUs alone, and a bare machine is its host:
 * whoever gets the GPUs next gets the disk, wiped.
 */
export function isReleasable({ kind, nodeCount }: Pick<Rental, 'kind' | 'nodeCount'>): boolean {
  return kind === 'virtual-machine' && nodeCount === 1;
}

/** What events and the audit trail are about. */
export function rentalResourceOf(rental: Pick<Rental, 'wireId' | 'publicIdentity'>): {
  readonly kind: string;
  readonly id: string;
} {
  const { wireId, publicIdentity } = rental;
  return publicIdentity === null
    ? { kind: 'rental', id: String(wireId) }
    : { kind: 'instance', id: publicIdentity.instanceId };
}

/** What its charges carry as their cause. */
export function causeOfRental(rental: Pick<Rental, 'kind' | 'wireId'>): MoneyCause {
  return { kind: rental.kind === 'instance' ? 'instance' : 'rental', id: String(rental.wireId) };
}

/** As its holds and meters name it. */
export function billedRental(rental: Rental): BilledResource {
  const { orgId, mode, keyId } = rental;
  return { orgId, mode, keyId, cause: causeOfRental(rental) };
}

/** The machines of the present attempt. */
export function currentMachinesOf(view: RentalView): readonly RentalMachine[] {
  return view.machines.filter(
    (machine) => machine.attempt === view.rental.attempt && machine.state !== 'doomed',
  );
}

export type { RentalAction, RentalState };
