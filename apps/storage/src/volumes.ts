import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { DriverError, isDriverError } from '@millrace/compute';
import { createItemRunner, defineLoop } from '@millrace/platform/loops';
import type { VolumeView, VolumeSpec } from '@millrace/storage';
import { checkSnapshotId, checkVolumeSpec } from '@millrace/storage/wire';
import { Admission, readAllVolumes } from './admission.ts';
import {
  copyWhileFrozen,
  growVolume,
  makeImage,
  mountVolume,
  snapshotIds,
  thawVolume,
  unmountVolume,
  usedBytes,
} from './disk.ts';
import { exists, syncFolder } from './files.ts';
import { isProbeAddress } from './ganesha-config.ts';
import { findServers, stopServer, rotateLog } from './ganesha.ts';
import { HealthTracker } from './health.ts';
import type { Pool, VolumeFolder } from './pool.ts';
import { probeVolume } from './probe-volume.ts';
import { readRecord, writeRecord, type VolumeRecord } from './record.ts';
import { commitRestore, deleteDrafts, finishRestore } from './snapshot-restore.ts';
import { serveVolume, type ServingDeps } from './serve-volume.ts';
import { KeyedQueue } from './keyed-queue.ts';

export interface VolumesDeps extends ServingDeps {
  readonly pool: Pool;
  /** Whether an address is one of those that volumes of this node are served on. */
  readonly isVip: (address: string) => boolean;
}

export interface Volumes {
  ensure(spec: VolumeSpec): Promise<VolumeView>;
  list(): Promise<VolumeView[]>;
  snapshot(id: string, snapshotId: string): Promise<{ readonly sizeBytes: number }>;
  removeSnapshot(id: string, snapshotId: string): Promise<void>;
  remove(id: string): Promise<void>;
  /** After a start: undoes what a crash may have left half done. */
  recover(): Promise<void>;
  /** Looks at every volume once, and brings back what is not served. */
  supervise(): Promise<void>;
  /** Resolves when nothing is under way. */
  settle(): Promise<void>;
}

/**
 * One check may start a volume's server again. A check that hangs keeps the volume's own turn, so that nothing else touches
 * the volume, and frees its slot for the checks of other volumes.
 */
const superviseVolumes = defineLoop({
  name: 'supervise volumes',
  over: 'volumes',
  timeoutMs: 120_000,
  atOnce: 4,
  firstRetryMs: 1_000,
  maxRetryMs: 60_000,
});
/** The next round begins although some checks of this one are still running. */
const superviseMaxWaitMs = 10_000;

/** The volumes of this node. Of one volume one thing is done at a time. */
export function createVolumes(deps: VolumesDeps): Volumes {
  const { pool, settings, clock, log } = deps;
  const turns = new KeyedQueue({ clock });
  const admission = new Admission(pool, clock);
  const health = new HealthTracker(clock, log);
  const runner = createItemRunner(superviseVolumes, { clock, log });

  async function view(folder: VolumeFolder, record: VolumeRecord): Promise<VolumeView> {
    const { externalId, sizeGb, vip, clients, isLeaving } = record;
    const { isServed, detail } = isLeaving
      ? { isServed: false, detail: 'It is being removed.' }
      : health.of(externalId);
    const snapshots = await snapshotIds(folder);
    return { externalId, sizeGb, vip, clients, isServed, detail, snapshots, restored: record.restored };
  }

  async function reconcileAndRecord(folder: VolumeFolder, record: VolumeRecord): Promise<VolumeRecord> {
    try {
      const brought = await reconcile(folder, record, deps);
      health.note(folder.id, null);
      return brought;
    } catch (error) {
      health.note(folder.id, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  async function deleteVolume(folder: VolumeFolder): Promise<void> {
    await stopServer(folder, clock);
    await unmountVolume(folder);
    await deleteDrafts(folder);
    // Under its name it is gone at once; what is left to do is done after a crash, too.
    const out = pool.leaving(`${folder.id}-${randomUUID()}`);
    await rename(folder.path, out);
    await rm(out, { recursive: true, force: true });
    health.remove(folder.id);
  }

  async function superviseVolume(folder: VolumeFolder, isRunning: boolean): Promise<void> {
    await rotateLog(folder);
    const record = await readRecord(folder);
    if (record?.isLeaving === true) return deleteVolume(folder);
    if (record !== null && record.restore !== null) {
      // The worker orders it again. A restore inside this check would delay the checks of other volumes.
      health.note(folder.id, 'It is being restored.');
      return;
    }
    const due = record === null ? 'nothing' : health.due(folder.id, isRunning);
    if (record === null || due === 'nothing') return;
    if (due === 'ask' && (await probeVolume(record, settings, clock)) === null) health.note(folder.id, null);
    else await reconcileAndRecord(folder, record);
  }

  async function takeSnapshot(id: string, target: string): Promise<void> {
    const folder = pool.volume(id);
    const record = await readRecord(folder);
    if (record === null || record.isLeaving || record.madeGb === 0)
      throw new DriverError('not_found', 'There is no such volume.');
    if (await exists(target)) return;
    await mountVolume(folder);
    await admission.snapshot(folder, target, () => copyWhileFrozen(folder, target));
  }

  return {
    async ensure(spec) {
      checkAddresses(spec, deps);
      return turns.take(spec.externalId, async () => {
        const record = await admission.admit(spec);
        const folder = pool.volume(spec.externalId);
        return view(folder, await reconcileAndRecord(folder, record));
      });
    },

    async list() {
      const views = (await readAllVolumes(pool)).map(({ folder, record, why }) =>
        record === null ? viewOfUnknownVolume(folder.id, why) : view(folder, record),
      );
      return Promise.all(views);
    },

    async snapshot(id, snapshotId) {
      checkSnapshotId(snapshotId);
      const target = pool.snapshot(id, snapshotId);
      return turns.take(id, async () => {
        await takeSnapshot(id, target);
        return { sizeBytes: await usedBytes(target) };
      });
    },

    async removeSnapshot(id, snapshotId) {
      checkSnapshotId(snapshotId);
      const { snapshots } = pool.volume(id);
      await turns.take(id, async () => {
        await rm(pool.snapshot(id, snapshotId), { force: true });
        if (await exists(snapshots)) await syncFolder(snapshots);
      });
    },

    async remove(id) {
      const folder = pool.volume(id);
      await turns.take(id, async () => {
        if (!(await exists(folder.path))) return;
        const record = await readRecord(folder);
        if (record !== null) await writeRecord(folder, { ...record, isLeaving: true });
        await deleteVolume(folder);
      });
    },

    async recover() {
      for (const id of await pool.ids()) {
        await thawVolume(pool.volume(id));
        await deleteDrafts(pool.volume(id));
      }
    },

    async supervise() {
      const servers = await findServers();
      const ids = (await pool.ids()).filter((id) => !turns.isBusy(id));
      await runner.run(ids, {
        key: (id) => id,
        work: async (id) => {
          const folder = pool.volume(id);
          await turns
            .take(id, () => superviseVolume(folder, servers.has(folder.config)))
            .catch((error: unknown) => {
              // What is wrong with a volume is in its health, and was logged there.
              if (!isDriverError(error)) throw error;
            });
        },
        maxWaitMs: superviseMaxWaitMs,
      });
    },

    settle: () => turns.settle(),
  };
}

/** From whatever is there to what the record says, and seen to be so. */
async function reconcile(
  folder: VolumeFolder,
  wanted: VolumeRecord,
  deps: VolumesDeps,
): Promise<VolumeRecord> {
  let record = wanted.restore === null ? wanted : await commitRestore(deps.pool, folder, wanted);
  await finishRestore(folder, record, deps.clock);
  if (record.madeGb === 0 && !(await exists(folder.image))) await makeImage(folder, record.sizeGb);
  await mountVolume(folder);
  if (record.madeGb < record.sizeGb) {
    await growVolume(folder, record.sizeGb);
    record = { ...record, madeGb: record.sizeGb };
    await writeRecord(folder, record);
  }
  await serveVolume(folder, record, deps);
  return record;
}

function checkAddresses(spec: VolumeSpec, { isVip }: VolumesDeps): void {
  checkVolumeSpec(spec);
  if (!isVip(spec.vip)) throw new DriverError('refused', `This node does not serve volumes on ${spec.vip}.`);
  if (spec.clients.some((client) => isProbeAddress(client) || isVip(client)))
    throw new DriverError('refused', 'A client has an address of the storage node itself.');
}

/** A folder that nobody can make sense of is shown, so that somebody looks. */
async function viewOfUnknownVolume(externalId: string, detail: string): Promise<VolumeView> {
  return {
    externalId,
    sizeGb: 0,
    vip: '',
    clients: [],
    isServed: false,
    detail,
    snapshots: [],
    restored: [],
  };
}
