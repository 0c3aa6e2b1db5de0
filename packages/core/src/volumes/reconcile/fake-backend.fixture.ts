import { DriverError } from '@millrace/compute';
import type { VolumeBackend, VolumeView, VolumeSpec } from '@millrace/storage';

/** A storage node that remembers what it serves, and does badly what a test wants it to do badly. */
export interface FakeBackend extends VolumeBackend {
  /** What it has, by external id. */
  readonly volumes: Map<string, VolumeView>;
  /** What each volume holds, and what each snapshot (`volume/snapshot`) does. */
  readonly contents: Map<string, string>;
  readonly snapshotContents: Map<string, string>;
  /** Every wish that it was brought to, in order. */
  readonly specs: VolumeSpec[];
  /** Thrown instead of an answer, where it is set: for all calls, or for the one that is named. */
  fault: {
    readonly call: 'all' | 'ensure' | 'remove' | 'snapshot' | 'restore';
    readonly error: DriverError;
  } | null;
  /** Waited for inside of `ensure`, after the wish was read and before it counts. */
  pause: ((spec: VolumeSpec) => Promise<void>) | null;
  /** Waited for when a wish counts, before that is answered. */
  beforeReply: (() => Promise<void>) | null;
  /** What a snapshot is said to take. */
  snapshotBytes: number;
}

export const silence = (): DriverError => new DriverError('unavailable', 'Nobody answers.');

export function createFakeBackend(): FakeBackend {
  const volumes = new Map<string, VolumeView>();
  const failing = (call: string): void => {
    const { fault } = backend;
    if (fault !== null && (fault.call === 'all' || fault.call === call)) throw fault.error;
  };
  const backend: FakeBackend = {
    volumes,
    contents: new Map(),
    snapshotContents: new Map(),
    specs: [],
    fault: null,
    pause: null,
    beforeReply: null,
    snapshotBytes: 1,
    async ensure(spec) {
      failing('ensure');
      await backend.pause?.(spec);
      const known = volumes.get(spec.externalId);
      const { externalId, vip, clients } = spec;
      const { sizeGb } = spec;
      if (known !== undefined && sizeGb < known.sizeGb)
        throw new DriverError('refused', 'A volume does not shrink.');
      const snapshots = known?.snapshots ?? [];
      const restored = [...(known?.restored ?? [])];
      const { restore } = spec;
      if (restore !== undefined && !restored.includes(restore.id)) {
        failing('restore');
        const content = backend.snapshotContents.get(`${restore.volumeId}/${restore.snapshotId}`);
        if (content === undefined) throw new DriverError('refused', 'No such snapshot.');
        backend.contents.set(externalId, content);
        restored.push(restore.id);
      }
      const view = { externalId, sizeGb, vip, clients, isServed: true, detail: null, snapshots, restored };
      volumes.set(externalId, view);
      backend.specs.push(spec);
      await backend.beforeReply?.();
      return view;
    },
    async list() {
      failing('list');
      return [...volumes.values()];
    },
    async snapshot(volumeId, snapshotId) {
      failing('snapshot');
      const known = volumes.get(volumeId);
      if (known === undefined) throw new DriverError('not_found', 'No such volume.');
      volumes.set(volumeId, { ...known, snapshots: [...new Set([...known.snapshots, snapshotId])] });
      backend.snapshotContents.set(`${volumeId}/${snapshotId}`, backend.contents.get(volumeId) ?? '');
      return { sizeBytes: backend.snapshotBytes };
    },
    async removeSnapshot(volumeId, snapshotId) {
      failing('snapshot');
      const known = volumes.get(volumeId);
      if (known === undefined) return;
      volumes.set(volumeId, { ...known, snapshots: known.snapshots.filter((id) => id !== snapshotId) });
    },
    async remove(volumeId) {
      failing('remove');
      volumes.delete(volumeId);
    },
    async close() {},
  };
  return backend;
}
