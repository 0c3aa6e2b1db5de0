import { DriverError } from '@millrace/compute';
import type { VolumeBackend, VolumeView, VolumeSpec } from '@millrace/storage';

/** A storage backend in memory with injected faults. */
export interface FakeBackend extends VolumeBackend {
  /** By external id. */
  readonly volumes: Map<string, VolumeView>;
  /** The content of each volume, and of each snapshot (`volume/snapshot`). */
  readonly contents: Map<string, string>;
  readonly snapshotContents: Map<string, string>;
  /** All applied specs, in order. */
  readonly specs: VolumeSpec[];
  /** Thrown by all calls, or by the named one. */
  fault: {
    readonly call: 'all' | 'ensure' | 'remove' | 'snapshot' | 'restore';
    readonly error: DriverError;
  } | null;
  /** Awaited in `ensure` before the spec is applied. */
  pause: ((spec: VolumeSpec) => Promise<void>) | null;
  /** Awaited in `ensure` after the spec was applied, before the response. */
  beforeReply: (() => Promise<void>) | null;
  snapshotBytes: number;
}

export const silence = (): DriverError => new DriverError('unavailable', 'The backend does not respond.');

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
