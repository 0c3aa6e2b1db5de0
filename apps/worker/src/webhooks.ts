import {
  createWebhookSender,
  resealWebhooks,
  startDeliverer,
  cleanUpWebhooks,
} from '@millrace/core/webhooks';
import { systemClock } from '@millrace/platform/clock';
import { createNetGuard } from '@millrace/platform/net';
import { createSealer } from '@millrace/platform/secrets';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** From the DNS look-up to the end of the response. */
const TIMEOUT_MS = 15_000;
const CLEANUP_EVERY_MS = 60_000;
const CLEANUP_BATCH = 500;
/** Processes with another active key can have sealed secrets meanwhile. */
const RESEAL_EVERY_MS = 3_600_000;

export function startWebhooks(
  config: WorkerConfig,
  deps: Pick<WorkerDeps, 'db' | 'lifecycle' | 'log' | 'holder' | 'startLoop'>,
): void {
  const { db, lifecycle, log, holder, startLoop } = deps;
  const clock = systemClock;
  const { sealingKeys, activeSealingKey } = config.secrets;
  const sealer = createSealer({ keys: sealingKeys, activeId: activeSealingKey });
  const deliverer = startDeliverer({
    db,
    clock,
    log,
    holder,
    startLoop,
    sealer,
    post: createWebhookSender({ clock, guard: createNetGuard(config.webhooks), timeoutMs: TIMEOUT_MS }),
    tuning: { leaseTtlMs: config.worker.webhookLeaseMs },
  });
  lifecycle.onDrain('consumers', 'webhooks', () => deliverer.stop());
  const loop = (name: string, idleMs: number, step: () => Promise<'busy' | 'idle'>): void => {
    const started = startLoop({ name, clock, log, idleMs, maxBackoffMs: CLEANUP_EVERY_MS }, step);
    lifecycle.onDrain('consumers', name, () => started.stop());
  };
  loop('tidy webhooks', CLEANUP_EVERY_MS, async () =>
    (await cleanUpWebhooks(db, CLEANUP_BATCH)) >= CLEANUP_BATCH ? 'busy' : 'idle',
  );
  loop('reseal webhooks', RESEAL_EVERY_MS, async () => {
    await resealWebhooks(db, sealer, log);
    return 'idle';
  });
}
