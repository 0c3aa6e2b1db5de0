import {
  createKeyFeedSealer,
  createKeyFeedSync,
  maintainKeyFeed,
  monitorDeployments,
} from '@millrace/core/inference';
import { createEngineProbe } from '@millrace/inference/probe';
import { systemClock } from '@millrace/platform/clock';
import { createSealer } from '@millrace/platform/secrets';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';

const MEBIBYTE = 1_048_576;

/** Maintains the key feed and monitors deployments. */
export function startKeyFeed(
  config: WorkerConfig,
  deps: Pick<WorkerDeps, 'db' | 'nats' | 'lifecycle' | 'log'>,
): void {
  const { db, nats, lifecycle, log } = deps;
  const { sealingKeys, activeSealingKey } = config.secrets;
  const { defaultRpm, fundedRpm } = config.rateLimits;
  const options = {
    db,
    nats,
    prefix: config.nats.prefix,
    sealer: createSealer({ keys: sealingKeys, activeId: activeSealingKey }),
    feedSealer: createKeyFeedSealer(config.keyFeed.sealingKeys),
    clock: systemClock,
    log,
    rates: { organisationRpm: defaultRpm, fundedRpm },
  };
  const writing = createKeyFeedSync(options).start();
  const keeping = maintainKeyFeed({
    ...options,
    replicas: config.nats.replicas,
    maxBytes: config.worker.keyFeedMaxMebibytes * MEBIBYTE,
  });
  const { probe, close } = createEngineProbe(systemClock);
  const watching = monitorDeployments({ ...options, allowPlaintext: config.nats.allowPlaintext, probe });
  lifecycle.onDrain('consumers', 'gateway book', async () => {
    await Promise.all([writing.stop(), keeping.stop(), watching.stop()]);
    close();
  });
}
