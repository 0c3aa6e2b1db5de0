import type { VolumeAction, VolumeState } from '@millrace/contract';
import type { Actor, Mode } from '@millrace/platform/envelope';
import type {
  HoldId,
  KeyId,
  OrgId,
  SnapshotId,
  StorageNodeId,
  UserId,
  VolumeId,
} from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';
import type { FrozenPrice } from '../../prices/index.ts';

/**
 * `provisioning`: being created. `live`: usable. `frozen`: retained without money, may continue. `leaving`: deleted, in
 * its retention. `purging`: its data is being deleted. `purged`: deleted.
 */
export type VolumePhase = 'provisioning' | 'live' | 'frozen' | 'leaving' | 'purging' | 'purged';

/** A size that the backend has not confirmed yet. */
export interface Growth {
  readonly toGb: number;
  readonly price: FrozenPrice;
  /** Null if the growth costs nothing. */
  readonly holdId: HoldId | null;
  /** Deadline after which the growth fails. */
  readonly by: Date;
}

/** A restore that the backend has not confirmed yet. */
export interface Restore {
  /** The backend stores the ids of completed restores, so that each is done once. */
  readonly id: string;
  readonly snapshotId: SnapshotId;
  /** The volume of the snapshot; for a restore in place, the volume itself. */
  readonly sourceId: VolumeId;
  /** After this time the backend is asked only for the outcome. */
  readonly by: Date;
}

/** The mutable fields; the database refuses changes of others. */
interface VolumeFields {
  readonly label: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly sizeGb: number;
  readonly price: FrozenPrice;
  /** The hold of the order, until the first meter takes it over. */
  readonly holdId: HoldId | null;
  readonly growth: Growth | null;
  readonly restore: Restore | null;
  readonly phase: VolumePhase;
  readonly status: VolumeState;
  readonly statusReason: string | null;
  readonly statusSince: Date;
  readonly endReason: string | null;
  readonly updatedAt: Date | null;
  readonly startedAt: Date | null;
  readonly endAcceptedAt: Date | null;
  readonly purgeAt: Date | null;
  readonly deletedAt: Date | null;
  /** Increases with each change of the spec. */
  readonly specSeq: number;
  readonly servedSeq: number;
  /** Addresses that the backend may be admitting. */
  readonly servedClients: readonly string[];
  readonly unhealthySince: Date | null;
  readonly tries: number;
  readonly lastError: string | null;
  readonly nextActionAt: Date | null;
  readonly transitions: number;
}

export type VolumeChanges = Partial<VolumeFields>;

export interface Volume extends VolumeFields {
  readonly id: VolumeId;
  readonly wireId: number;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly userId: UserId;
  readonly keyId: KeyId | null;
  readonly nodeId: StorageNodeId;
  readonly region: string;
  readonly vip: string;
  readonly name: string | null;
  readonly maxNanoUsd: NanoUsd | null;
  readonly createdAt: Date;
  readonly version: number;
}

export type VolumeRef = Pick<Volume, 'id' | 'orgId'>;

export type SnapshotStatus = 'creating' | 'ready' | 'failed' | 'deleting' | 'deleted';

export interface Snapshot {
  readonly id: SnapshotId;
  readonly volumeId: VolumeId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly label: string;
  /** While creating: the volume's size as upper limit. When ready: the actual size. */
  readonly sizeGb: number;
  readonly volumeGb: number;
  readonly price: FrozenPrice;
  readonly holdId: HoldId | null;
  readonly status: SnapshotStatus;
  readonly createdAt: Date;
  readonly makeBy: Date;
  readonly tries: number;
}

/** The actor of changes that no caller requested. */
export const volumesActor: Actor = { kind: 'system', id: 'volumes' };

/** The resource in events and audit entries, and the cause of charges of the volume and its snapshots. */
export function volumeResourceOf({ wireId }: Pick<Volume, 'wireId'>) {
  return { kind: 'volume', id: String(wireId) } as const;
}

export type { VolumeAction, VolumeState };
