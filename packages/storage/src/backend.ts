import type { OrgId } from '@millrace/platform/ids';

/** The desired state of a volume. */
export interface VolumeSpec {
  /** Chosen by the caller before the first call. */
  readonly externalId: string;
  readonly orgId: OrgId;
  /** In GiB. A volume can grow and never shrinks. */
  readonly sizeGb: number;
  /** The address on which only this volume is served. */
  readonly vip: string;
  /** The only IP addresses that may mount the volume. */
  readonly clients: readonly string[];
  /**
   * Snapshot of the same organisation and backend to restore. Each restore id runs once. A missing volume is created from the
   * snapshot; an existing one is replaced atomically and has either the old or the restored content at any time, also after a
   * crash.
   */
  readonly restore?: VolumeRestore;
  /** Increases with each spec. An older spec gets `busy`, so a delayed request cannot re-admit removed clients. */
  readonly sequence?: number;
}

interface VolumeRestore {
  readonly id: string;
  readonly volumeId: string;
  readonly snapshotId: string;
}

/** The observed state of a volume. */
export interface VolumeView {
  readonly externalId: string;
  readonly sizeGb: number;
  readonly vip: string;
  /** Sorted as text. */
  readonly clients: readonly string[];
  /** Whether a recent probe of the NFS server succeeded. */
  readonly isServed: boolean;
  /** For operators: why the volume is not served. */
  readonly detail: string | null;
  readonly snapshots: readonly string[];
  /** Ids of the latest completed restores. */
  readonly restored: readonly string[];
}

/**
 * File systems that machines share over the network, each on its own address.
 *
 * Volumes are identified by external id. Every call is idempotent and may be repeated after any crash; a resolved call is
 * complete. Only a backend that responded can report a volume as absent. Every failure is a `DriverError` whose `isFinal` says
 * whether to retry.
 *
 * - `conflict`: the volume belongs to another organisation, or its address to another volume.
 * - `no_capacity`: the backend would promise more than it has.
 * - `refused`: the spec is impossible: smaller than the volume, or an address or snapshot that the backend does not have.
 * - `failed`: the node cannot serve the data; an operator must check it.
 */
export interface VolumeBackend {
  /**
   * Creates, grows and serves the volume on its vip to exactly these clients. Resolves when a probe has shown that the NFS server
   * uses the new list; other clients are refused by then, also with files open.
   */
  ensure(spec: VolumeSpec, signal: AbortSignal): Promise<VolumeView>;

  /** Lists all volumes of the backend, to compare them with their specs. */
  list(signal: AbortSignal): Promise<readonly VolumeView[]>;

  /** Keeps the content at one instant between the call and its response, until the snapshot is removed. */
  snapshot(
    volumeId: string,
    snapshotId: string,
    signal: AbortSignal,
  ): Promise<{
    /** Size if no blocks were shared with the volume. */
    readonly sizeBytes: number;
  }>;

  /** Also resolves if the snapshot does not exist. */
  removeSnapshot(volumeId: string, snapshotId: string, signal: AbortSignal): Promise<void>;

  /** Deletes data and snapshots permanently; also resolves if the volume does not exist. */
  remove(volumeId: string, signal: AbortSignal): Promise<void>;

  close(): Promise<void>;
}
