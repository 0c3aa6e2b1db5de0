import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { DriverError, isDriverError } from '@millrace/compute';
import { createItemRunner, defineLoop } from '@millrace/platform/loops';
import type { VolumeView, VolumeSpec } from '@millrace/storage';
import { checkSnapshotId, checkVolumeSpec } from '@millrace/storage/wire';
import { syncPath } from '@millrace/platform/files';
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
import { exists } from './files.ts';
import { isProbeAddress } from './ganesha-config.ts';
import { findServers, stopServer, rotateLog } from './ganesha.ts';
import { HealthTracker } from './health.ts';
import type { Pool, Folder } from './pool.ts';
import { probeVolume } from './probe-volume.ts';
import { readRecord, writeRecord, type VolumeRecord } from './record.ts';
import { commitRestore, deleteDrafts, finishRestore } from './snapshot-restore.ts';
import { serveVolume, type ServingDeps } from './serve-volume.ts';
import { KeyedQueue } from './keyed-queue.ts';

export interface VolumesDeps extends ServingDeps {
  readonly pool: Pool;
  readonly isVip: (address: string) => boolean;
}

/** A check may restart a server. A hanging check blocks only its own volume and frees its slot. */
const superviseVolumes = defineLoop({
  name: 'supervise volumes',
  over: 'volumes',
  timeoutMs: 120_000,
  atOnce: 4,
  firstRetryMs: 1_000,
  maxRetryMs: 60_000,
});
/** The next round starts even if checks of this one are still running. */
const superviseMaxWaitMs = 10_000;

/** Manages the volumes of this node; work on one volume runs one at a time. */
export class Volumes {
  readonly #deps: VolumesDeps;
  readonly #turns: KeyedQueue;
  readonly #admission: Admission;
  readonly #health: HealthTracker;
  readonly #runner: ReturnType<typeof createItemRunner>;

  constructor(deps: VolumesDeps) {
    const { pool, clock, log } = deps;
    this.#deps = deps;
    this.#turns = new KeyedQueue({ clock });
    this.#admission = new Admission(pool, clock);
    this.#health = new HealthTracker(clock, log);
    this.#runner = createItemRunner(superviseVolumes, { clock, log });
  }

  async ensure(spec: VolumeSpec): Promise<VolumeView> {
    checkAddresses(spec, this.#deps);
    return this.#turns.take(spec.externalId, async () => {
      const record = await this.#admission.admit(spec);
      const folder = this.#deps.pool.volume(spec.externalId);
      return this.#view(folder, await this.#reconcile(folder, record));
    });
  }

  async list(): Promise<VolumeView[]> {
    const views = (await readAllVolumes(this.#deps.pool)).map(({ folder, record, why }) =>
      record === null ? viewOfUnknownVolume(folder.id, why) : this.#view(folder, record),
    );
    return Promise.all(views);
  }

  async snapshot(id: string, snapshotId: string): Promise<{ readonly sizeBytes: number }> {
    checkSnapshotId(snapshotId);
    const target = this.#deps.pool.snapshot(id, snapshotId);
    return this.#turns.take(id, async () => {
      await this.#takeSnapshot(id, target);
      return { sizeBytes: await usedBytes(target) };
    });
  }

  async removeSnapshot(id: string, snapshotId: string): Promise<void> {
    checkSnapshotId(snapshotId);
    const { pool } = this.#deps;
    const { snapshots } = pool.volume(id);
    await this.#turns.take(id, async () => {
      await rm(pool.snapshot(id, snapshotId), { force: true });
      if (await exists(snapshots)) await syncPath(snapshots);
    });
  }

  async remove(id: string): Promise<void> {
    const folder = this.#deps.pool.volume(id);
    await this.#turns.take(id, async () => {
      if (!(await exists(folder.path))) return;
      const record = await readRecord(folder);
      if (record !== null) await writeRecord(folder, { ...record, isLeaving: true });
      await this.#delete(folder);
    });
  }

  /** After a start: thaws volumes and deletes drafts that a crash left behind. */
  async recover(): Promise<void> {
    const { pool } = this.#deps;
    for (const id of await pool.ids()) {
      await thawVolume(pool.volume(id));
      await deleteDrafts(pool.volume(id));
    }
  }

  /** Checks every volume once and restores those that are not served. */
  async supervise(): Promise<void> {
    const { pool } = this.#deps;
    const servers = await findServers();
    const ids = (await pool.ids()).filter((id) => !this.#turns.isBusy(id));
    await this.#runner.run(ids, {
      key: (id) => id,
      work: async (id) => {
        const folder = pool.volume(id);
        await this.#turns
          .take(id, () => this.#superviseVolume(folder, servers.has(folder.config)))
          .catch((error: unknown) => {
            // The error is recorded and logged as the health of the volume.
            if (!isDriverError(error)) throw error;
          });
      },
      maxWaitMs: superviseMaxWaitMs,
    });
  }

  /** Resolves when no work is in progress. */
  settle(): Promise<void> {
    return this.#turns.settle();
  }

  async #view(folder: Folder, record: VolumeRecord): Promise<VolumeView> {
    const { externalId, sizeGb, vip, clients, isLeaving, restored } = record;
    const leaving = { isServed: false, detail: 'The volume is being removed.' };
    const { isServed, detail } = isLeaving ? leaving : this.#health.of(externalId);
    const snapshots = await snapshotIds(folder);
    return { externalId, sizeGb, vip, clients, isServed, detail, snapshots, restored };
  }

  async #reconcile(folder: Folder, record: VolumeRecord): Promise<VolumeRecord> {
    try {
      const brought = await reconcile(folder, record, this.#deps);
      this.#health.note(folder.id, null);
      return brought;
    } catch (error) {
      this.#health.note(folder.id, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  async #delete(folder: Folder): Promise<void> {
    const { pool, clock } = this.#deps;
    await stopServer(folder, clock);
    await unmountVolume(folder);
    await deleteDrafts(folder);
    // The rename removes the volume at once; the next start deletes the folder after a crash.
    const out = pool.leaving(`${folder.id}-${randomUUID()}`);
    await rename(folder.path, out);
    await rm(out, { recursive: true, force: true });
    this.#health.remove(folder.id);
  }

  async #superviseVolume(folder: Folder, isRunning: boolean): Promise<void> {
    const { settings, clock } = this.#deps;
    const health = this.#health;
    await rotateLog(folder);
    const record = await readRecord(folder);
    if (record?.isLeaving === true) return this.#delete(folder);
    if (record !== null && record.restore !== null) {
      // The worker repeats the restore. Restoring here would delay the checks of other volumes.
      health.note(folder.id, 'The volume is being restored.');
      return;
    }
    const due = record === null ? 'nothing' : health.due(folder.id, isRunning);
    if (record === null || due === 'nothing') return;
    if (due === 'ask' && (await probeVolume(record, settings, clock)) === null) health.note(folder.id, null);
    else await this.#reconcile(folder, record);
  }

  async #takeSnapshot(id: string, target: string): Promise<void> {
    const folder = this.#deps.pool.volume(id);
    const record = await readRecord(folder);
    if (record === null || record.isLeaving || record.madeGb === 0)
      throw new DriverError('not_found', 'The volume does not exist.');
    if (await exists(target)) return;
    await mountVolume(folder);
    await this.#admission.snapshot(folder, target, () => copyWhileFrozen(folder, target));
  }
}

/** Applies the record and verifies that the server uses it. */
async function reconcile(folder: Folder, wanted: VolumeRecord, deps: VolumesDeps): Promise<VolumeRecord> {
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
  if (!isVip(spec.vip))
    throw new DriverError('refused', `The address ${spec.vip} is not in MILLRACE_STORAGE_VIPS of this node.`);
  if (spec.clients.some((client) => isProbeAddress(client) || isVip(client)))
    throw new DriverError('refused', 'A client must not have an address of the storage node.');
}

/** Lists a volume whose record cannot be read, so that an operator sees it. */
async function viewOfUnknownVolume(externalId: string, detail: string): Promise<VolumeView> {
  const nothing = { sizeGb: 0, vip: '', clients: [], snapshots: [], restored: [] };
  return { externalId, isServed: false, detail, ...nothing };
}
