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

/** The words of this feature as values. */

/**
 * What becomes of a volume. `provisioning`: being made. `live`: usable. `frozen`: kept for want of money, and may go on.
 * `leaving`: deleted, and kept for its retention. `purging`: its data is being deleted. `purged`: gone.
 */
export type VolumePhase = 'provisioning' | 'live' | 'frozen' | 'leaving' | 'purging' | 'purged';

/** A size that the backend has still to confirm. */
export interface Growth {
  readonly toGb: number;
  readonly price: FrozenPrice;
  /** What was set aside for it; null where it costs nothing. */
  readonly holdId: HoldId | null;
  /** When it has failed if it is not done. */
  readonly by: Date;
}

/** A snapshot that the backend has still to bring into the volume. */
export interface Restore {
  /** The backend remembers the restores that it has done by this id, so that each is done once. */
  readonly id: string;
  readonly snapshotId: SnapshotId;
  /** The volume that the snapshot was taken of: the restored one itself where it is restored in place. */
  readonly sourceId: VolumeId;
  /** From then on the backend is asked only whether it was done. */
  readonly by: Date;
}

/** What may change of a volume. The database refuses the rest. */
interface VolumeFields {
  readonly label: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly sizeGb: number;
  readonly price: FrozenPrice;
  /** What was set aside when it was accepted, until its first meter takes it over. */
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
  /** Grows with each change of what the backend has to serve. */
  readonly specSeq: number;
  readonly servedSeq: number;
  /** Addresses that the backend may be letting in. */
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

/** Enough of a volume to find its row. */
export type VolumeRef = Pick<Volume, 'id' | 'orgId'>;

export type SnapshotStatus = 'creating' | 'ready' | 'failed' | 'deleting' | 'deleted';

export interface Snapshot {
  readonly id: SnapshotId;
  readonly volumeId: VolumeId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly label: string;
  /** At most the size of the volume while it is made; what it takes once it is ready. */
  readonly sizeGb: number;
  /** The size of the file system in it. */
  readonly volumeGb: number;
  readonly price: FrozenPrice;
  readonly holdId: HoldId | null;
  readonly status: SnapshotStatus;
  readonly createdAt: Date;
  readonly makeBy: Date;
  readonly tries: number;
}

/** What nobody asked for now is done in this name. */
export const volumesActor: Actor = { kind: 'system', id: 'volumes' };

/** What events and the audit trail are about, and what its charges and those of its snapshots carry as their cause. */
export function volumeResourceOf({ wireId }: Pick<Volume, 'wireId'>) {
  return { kind: 'volume', id: String(wireId) } as const;
}

export type { VolumeAction, VolumeState };
