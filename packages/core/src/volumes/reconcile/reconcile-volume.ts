import { DriverError } from '@millrace/compute';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid, type SnapshotId, type StorageNodeId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { counter } from '@millrace/platform/telemetry';
import type { VolumeBackend, VolumeView, VolumeSpec } from '@millrace/storage';
import type { BackendPool } from '../model/backend-pool.ts';
import { reconcileVolumesLoop } from '../model/loops.ts';
import { scheduleVolumesNow } from '../model/storage-nodes.store.ts';
import type { VolumePolicy } from '../model/policy.ts';
import { planTask, type VolumeTask } from './plan-volume.service.ts';
import { recordTaskOutcome, type SnapshotOutcome, type TaskOutcome } from './record-outcome.service.ts';
import type { Volume, VolumeRef } from '../model/volume.ts';
import { claimDueVolumes } from '../model/volumes.store.ts';

/**
 * Reconciles volumes: plans in one transaction, calls the backend outside any, records the outcome in another. A round
 * may be repeated, interrupted anywhere, or run concurrently.
 */
export interface VolumeDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly backends: BackendPool;
  readonly policy: VolumePolicy;
}

const failuresCounter = counter('millrace_volumes_failures_total');
const lostVolumesCounter = counter('millrace_volumes_lost_total');

const isolation = 'read committed' as const;

type Claimed = Pick<Volume, 'orgId' | 'id' | 'nodeId'>;

function claimVolumes({ db, policy }: VolumeDeps, limit: number, but: readonly StorageNodeId[]) {
  return db.transaction({ name: 'claim volumes', isolation }, (tx): Promise<readonly Claimed[]> => {
    const now = tx.clock.now();
    return claimDueVolumes(tx, { now, until: new Date(now.getTime() + policy.workingMs), limit, but });
  });
}

/** Never fails: the claim expires, and the volume becomes due again. */
async function reconcileSafely(deps: VolumeDeps, ref: Claimed, signal: AbortSignal): Promise<void> {
  try {
    await reconcileVolume(deps, ref, signal);
  } catch (error) {
    deps.log.error({ err: error, volumeId: ref.id }, 'reconciling a volume failed');
  }
}

/** Reconciles due volumes and waits for all. Returns their number. */
export async function reconcileDueVolumes(
  deps: VolumeDeps,
  limit: number,
  signal: AbortSignal,
): Promise<number> {
  const due = await claimVolumes(deps, limit, []);
  await Promise.all(due.map((ref) => reconcileSafely(deps, ref, signal)));
  return due.length;
}

/** Reconciles without waiting for slow nodes: a node that hangs delays only its own volumes. */
export interface VolumeReconciler {
  /** Claims due volumes as far as there are free slots. */
  step(signal: AbortSignal): Promise<'busy' | 'idle'>;
  ended(): Promise<void>;
}

export interface VolumeConcurrency {
  readonly atOnce: number;
  readonly atOncePerNode: number;
}

export function createVolumeReconciler(
  deps: VolumeDeps,
  { atOnce, atOncePerNode }: VolumeConcurrency,
): VolumeReconciler {
  const { clock, log } = deps;
  const runner = createItemRunner({ ...reconcileVolumesLoop, atOnce }, { clock, log });
  const running = new Map<Promise<void>, StorageNodeId>();
  const fullNodes = (): readonly StorageNodeId[] => {
    const nodes = [...running.values()];
    return [...new Set(nodes)].filter((id) => nodes.filter((other) => other === id).length >= atOncePerNode);
  };
  return {
    async step(signal) {
      const room = Math.min(atOncePerNode, atOnce - running.size);
      if (room <= 0) return 'idle';
      const due = await claimVolumes(deps, room, fullNodes());
      for (const ref of due) {
        const work: Promise<void> = runner
          .run([ref], { key: ({ id }) => id, work: (one, ends) => reconcileSafely(deps, one, ends), signal })
          .then(
            () => void running.delete(work),
            () => void running.delete(work),
          );
        running.set(work, ref.nodeId);
      }
      return due.length >= room ? 'busy' : 'idle';
    },
    async ended() {
      await Promise.all(running.keys());
    },
  };
}

export async function reconcileVolume(deps: VolumeDeps, ref: VolumeRef, signal: AbortSignal): Promise<void> {
  const { db, policy, log } = deps;
  const task = await db.transaction({ name: 'prepare volume', isolation }, (tx) => planTask(tx, ref, policy));
  if (task === null) return;
  const outcome = await executeTask(deps, task, signal);
  if (signal.aborted) {
    // The process stops, which is not a failure of the node; another worker continues at once.
    await db.transaction({ name: 'give up volume', isolation }, (tx) => scheduleVolumesNow(tx, [ref]));
    return;
  }
  if (!outcome.ok) {
    failuresCounter.add(1);
    const { name: storageNode } = task.node;
    log.warn({ err: outcome.error, volumeId: ref.id, storageNode }, 'call to a storage node failed');
  }
  await db.transaction({ name: 'settle volume', isolation }, (tx) =>
    recordTaskOutcome(tx, task, outcome, policy),
  );
}

async function executeTask(deps: VolumeDeps, task: VolumeTask, signal: AbortSignal): Promise<TaskOutcome> {
  const { clock, policy } = deps;
  try {
    // The wait ends here even if the backend ignores its signal.
    return await withDeadline(clock, 'A call to a storage node', policy.callMs, async (late) => {
      const backend = await deps.backends.of(task.node);
      const ends = AbortSignal.any([signal, late]);
      return task.what === 'remove' ? removeVolume(backend, task, ends) : serveVolume(backend, task, ends);
    });
  } catch (error) {
    return { ok: false, error };
  }
}

async function removeVolume(
  backend: VolumeBackend,
  task: VolumeTask,
  signal: AbortSignal,
): Promise<TaskOutcome> {
  const id = toUuid(task.volume.id);
  await backend.remove(id, signal);
  if ((await backend.list(signal)).some(({ externalId }) => externalId === id)) {
    throw new DriverError('failed', 'The storage node still has the volume after its removal.');
  }
  return { ok: true, view: null, made: new Map(), dropped: [] };
}

async function serveVolume(
  backend: VolumeBackend,
  task: VolumeTask & { readonly what: 'serve' },
  signal: AbortSignal,
): Promise<TaskOutcome> {
  const known = await requireExistingVolume(backend, task, signal);
  // Backends do not shrink volumes: one that grew although its growth was cancelled is served at its actual size.
  const request = { ...task.spec, sizeGb: Math.max(task.spec.sizeGb, known?.sizeGb ?? 0) };
  const view = await backend.ensure(request, signal);
  requireMatchesSpec(view, request);
  const id = task.spec.externalId;
  const made = new Map<SnapshotId, SnapshotOutcome>();
  for (const snapshot of task.make) {
    made.set(snapshot.id, await tryCreateSnapshot(backend, id, snapshot.id, signal));
  }
  const has = new Set(known?.snapshots);
  const leftOver = task.givenUp.filter((snapshot) => has.has(toUuid(snapshot.id)));
  const dropped: SnapshotId[] = [];
  for (const snapshot of [...task.drop, ...leftOver]) {
    try {
      await backend.removeSnapshot(id, toUuid(snapshot.id), signal);
      dropped.push(snapshot.id);
    } catch {
      // The snapshot stays in `deleting`, so its removal is retried.
    }
  }
  return { ok: true, view, made, dropped };
}

/**
 * A backend creates missing volumes, which would hide the loss of data. So a volume that had data must exist before
 * `ensure`. The mock stores no data.
 */
async function requireExistingVolume(
  backend: VolumeBackend,
  { node, volume }: VolumeTask,
  signal: AbortSignal,
): Promise<VolumeView | null> {
  if (node.kind === 'mock' || volume.startedAt === null) return null;
  const id = toUuid(volume.id);
  const known = (await backend.list(signal)).find(({ externalId }) => externalId === id);
  if (known !== undefined) return known;
  lostVolumesCounter.add(1);
  throw new DriverError('failed', 'The storage node does not have the volume, although it had data there.');
}

function requireMatchesSpec(view: VolumeView, spec: VolumeSpec): void {
  const clients = new Set(view.clients);
  const isSame =
    view.isServed &&
    view.vip === spec.vip &&
    view.sizeGb >= spec.sizeGb &&
    (spec.restore === undefined || view.restored.includes(spec.restore.id)) &&
    clients.size === spec.clients.length &&
    spec.clients.every((client) => clients.has(client));
  if (!isSame) {
    throw new DriverError(
      'failed',
      `The storage node does not serve the spec: ${view.detail ?? 'no reason'}.`,
    );
  }
}

async function tryCreateSnapshot(
  backend: VolumeBackend,
  volumeId: string,
  snapshotId: SnapshotId,
  signal: AbortSignal,
): Promise<SnapshotOutcome> {
  try {
    const { sizeBytes } = await backend.snapshot(volumeId, toUuid(snapshotId), signal);
    return { made: true, sizeBytes };
  } catch (error) {
    return { made: false, error };
  }
}
