import type { OrgId } from '@millrace/platform/ids';

/** What a volume should be. */
export interface VolumeSpec {
  /** The volume's name everywhere, chosen by the caller before anything is asked of the backend. */
  readonly externalId: string;
  readonly orgId: OrgId;
  /** Gibibytes, as everywhere in Millrace. It grows and never shrinks. */
  readonly sizeGb: number;
  /** The address that it, and nothing else, is served on. */
  readonly vip: string;
  /** IP addresses; nobody else gets in. */
  readonly clients: readonly string[];
  /**
   * The content that the volume is to have: a snapshot of this or another volume of the backend and of the same organisation.
   * Each restore has an id of its own and is done once. A volume that is not there yet is made from the snapshot; one that is
   * there is replaced as a whole, and has either its old content or that of the snapshot at every instant, also after a crash.
   */
  readonly restore?: VolumeRestore;
  /**
   * Counts up from wish to wish, if the caller can tell which of two is the newer. A backend that has had a newer one refuses
   * the older (`busy`: look again what is wanted), so that an order which was long on its way brings nobody back.
   */
  readonly sequence?: number;
}

interface VolumeRestore {
  readonly id: string;
  readonly volumeId: string;
  readonly snapshotId: string;
}

/** What the backend says that a volume is. */
export interface VolumeView {
  readonly externalId: string;
  readonly sizeGb: number;
  readonly vip: string;
  /** In the order of their text. */
  readonly clients: readonly string[];
  /** Whether the storage server itself was seen to answer for it, not long ago. */
  readonly isServed: boolean;
  /** Why it is not served, for operators. */
  readonly detail: string | null;
  readonly snapshots: readonly string[];
  /** The restores that were done into it last, by their ids. */
  readonly restored: readonly string[];
}

/**
 * File systems that machines share over the network, each on an address of its own.
 *
 * Volumes are known by external id. Every call may be repeated, from anywhere, after any crash; a call that resolved is
 * done. "Not there" is said by a backend that answered, never concluded from silence. Every failure is a `DriverError`,
 * whose `isFinal` says whether to ask again.
 *
 * - `conflict`: a volume of this id belongs to another organisation, or its address to another volume.
 * - `no_capacity`: the backend would promise more than it has.
 * - `refused`: it cannot be what was asked for: smaller than it is, an address or a snapshot that the backend does not have.
 * - `failed`: its data cannot be served, for a reason of the node; somebody has to look.
 */
export interface VolumeBackend {
  /**
   * Brings the volume to what is wanted: made, grown, served on its vip to exactly these clients. Resolves when the storage
   * server itself was seen to serve by the new list; whoever is not on it is refused by then, also with files open.
   */
  ensure(spec: VolumeSpec, signal: AbortSignal): Promise<VolumeView>;

  /** Every volume that the backend has: for comparison. */
  list(signal: AbortSignal): Promise<readonly VolumeView[]>;

  /** The volume as it is at one instant between the call and its answer, kept until it is removed. */
  snapshot(
    volumeId: string,
    snapshotId: string,
    signal: AbortSignal,
  ): Promise<{
    /** What it would take if nothing of it were shared with the volume any more. */
    readonly sizeBytes: number;
  }>;

  /** One that is not there is removed. */
  removeSnapshot(volumeId: string, snapshotId: string, signal: AbortSignal): Promise<void>;

  /** Deletes its data and snapshots for good; one that is not there is removed. */
  remove(volumeId: string, signal: AbortSignal): Promise<void>;

  close(): Promise<void>;
}
