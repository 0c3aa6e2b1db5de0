import type { VolumeBackend, VolumeView, VolumeSpec } from './backend.ts';
import { checkSnapshotId, checkVolumeId, checkVolumeSpec } from './check-spec.ts';

/** Backend for test keys without data. Its list has only volumes of this process, so a missing entry proves nothing. */
export function createMockBackend(): VolumeBackend {
  const volumes = new Map<string, VolumeView>();
  return {
    async ensure(spec: VolumeSpec) {
      checkVolumeSpec(spec);
      const { externalId, sizeGb, vip, restore } = spec;
      const clients = spec.clients.toSorted();
      const known = volumes.get(externalId);
      const snapshots = known?.snapshots ?? [];
      const restored = [
        ...new Set([...(known?.restored ?? []), ...(restore === undefined ? [] : [restore.id])]),
      ];
      const view = { externalId, sizeGb, vip, clients, isServed: true, detail: null, snapshots, restored };
      volumes.set(externalId, view);
      return view;
    },

    async list() {
      return [...volumes.values()];
    },

    async snapshot(volumeId, snapshotId) {
      checkVolumeId(volumeId);
      checkSnapshotId(snapshotId);
      const known = volumes.get(volumeId);
      if (known !== undefined) {
        const snapshots = [...new Set([...known.snapshots, snapshotId])];
        volumes.set(volumeId, { ...known, snapshots });
      }
      return { sizeBytes: 0 };
    },

    async removeSnapshot(volumeId, snapshotId) {
      const known = volumes.get(volumeId);
      if (known === undefined) return;
      volumes.set(volumeId, { ...known, snapshots: known.snapshots.filter((id) => id !== snapshotId) });
    },

    async remove(volumeId) {
      volumes.delete(volumeId);
    },

    async close() {},
  };
}
