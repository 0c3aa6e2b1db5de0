import {
  applyStorageConfig,
  createBackendPool,
  createVolumeReconciler,
  createNodeChecker,
  defaultVolumePolicy,
  freezeUnpaid,
} from '@millrace/core/volumes';
import { systemClock } from '@millrace/platform/clock';
import { defaultStorage } from '@millrace/platform/config';
import { connectVolumeBackend } from '@millrace/storage';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';
import { retryAtStart } from './retry-at-start.ts';

/** Maximum delay until the storage server learns of an attached or detached volume. */
const RECONCILE_EVERY_MS = 500;
const CONCURRENCY = { atOnce: 64, atOncePerNode: 16 };
/** Maximum delay of a storage node check; the policy sets the interval. */
const POLL_MS = 1_000;
const REQUIRED_EVERY_MS = 2_000;
const REQUIRED_BATCH = 100;

/** Starts the reconciling of volumes and the checks of storage nodes. */
export async function startVolumes(
  config: WorkerConfig,
  deps: Pick<WorkerDeps, 'db' | 'startLoop' | 'lifecycle' | 'log'>,
): Promise<void> {
  const { db, startLoop, lifecycle, log } = deps;
  const clock = systemClock;
  const { credentials } = config.fleet;
  const nodes = config.storage.list ?? config.storage.file ?? defaultStorage;
  const left = await retryAtStart('the storage configuration', log, () => applyStorageConfig(db, nodes));
  for (const { name, problem } of left) {
    log.error({ storageNode: name, problem }, 'the configuration of a storage node was not applied');
  }
  const backends = createBackendPool({
    log,
    connect: (node) => connectVolumeBackend(node, { clock, log, credentials }),
  });
  lifecycle.onDrain('pools', 'storage backends', () => backends.close());
  const volumes = { db, clock, log, backends, policy: defaultVolumePolicy };
  const loop = (name: string, idleMs: number, step: Parameters<WorkerDeps['startLoop']>[1]): void => {
    const started = startLoop({ name, clock, log, idleMs, maxBackoffMs: idleMs }, step);
    lifecycle.onDrain('consumers', name, () => started.stop());
  };
  const watch = createNodeChecker(volumes);
  loop('look at storage nodes', POLL_MS, async (signal) => {
    await watch.look(signal);
    return 'idle';
  });
  lifecycle.onDrain('consumers', 'looks at storage nodes', () => watch.ended());
  const converger = createVolumeReconciler(volumes, CONCURRENCY);
  loop('bring volumes about', RECONCILE_EVERY_MS, (signal) => converger.step(signal));
  lifecycle.onDrain('consumers', 'volumes under way', () => converger.ended());
  loop('freeze unpaid volumes', REQUIRED_EVERY_MS, async () =>
    (await freezeUnpaid(db, { log, limit: REQUIRED_BATCH })) >= REQUIRED_BATCH ? 'busy' : 'idle',
  );
}
