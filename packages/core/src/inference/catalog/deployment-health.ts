import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import type { Sealer } from '@millrace/platform/secrets';
import { usesPlaintext, sealContextOf, type Deployment } from './catalog.ts';
import { listDeployments, setHealth } from './catalog.store.ts';
import { probeDeployments } from '../loops.ts';

/** Records whether deployments respond, for operators. Gateways do not use it: they monitor deployments themselves. */

const probeIntervalMs = 10_000;
const pageSize = 200;

export interface ProbedEngine extends Pick<Deployment, 'engine' | 'address'> {
  readonly apiKey: string | null;
}

/** Probes the health of an engine, in bounded time. A rejection means `down`. */
export type ProbeEngine = (engine: ProbedEngine) => Promise<Deployment['health']>;

export interface DeploymentHealthOptions {
  readonly db: Db;
  readonly sealer: Sealer;
  /** Whether engines on other machines need no TLS. */
  readonly allowPlaintext: boolean;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly probe: ProbeEngine;
}

/** Several workers can probe at once: a health is written only if it changes. */
export function monitorDeployments(options: DeploymentHealthOptions): Loop {
  const { db, clock, log } = options;

  async function probeDeployment(deployment: Deployment): Promise<void> {
    const health = await healthOf(options, deployment);
    if (health === deployment.health) return;
    const isChanged = await db.transaction(
      { name: 'note health of deployment', isolation: 'read committed' },
      (tx) => setHealth(tx, deployment.id, deployment.health, health),
    );
    if (isChanged)
      log.info(
        { deployment: deployment.id, from: deployment.health, to: health },
        'the health of a deployment changed',
      );
  }

  const runner = createItemRunner(probeDeployments, { clock, log });
  return startLoop(
    { name: 'watch deployments', clock, log, idleMs: probeIntervalMs, maxBackoffMs: probeIntervalMs },
    async (signal) => {
      for (let after: Deployment['id'] | null = null; !signal.aborted;) {
        const found: readonly Deployment[] = await listDeployments(
          db,
          { model: null },
          { limit: pageSize, after },
        );
        const enabled = found.slice(0, pageSize).filter((deployment) => deployment.enabled);
        await runner.run(enabled, { key: ({ id }) => id, work: probeDeployment, signal });
        if (found.length <= pageSize) return 'idle';
        after = found[pageSize - 1]?.id ?? null;
      }
      return 'idle';
    },
  );
}

async function healthOf(
  { sealer, allowPlaintext, probe }: DeploymentHealthOptions,
  deployment: Deployment,
): Promise<Deployment['health']> {
  const { id, engine, address, sealedApiKey } = deployment;
  // Gateways do not use it either.
  if (!allowPlaintext && usesPlaintext(deployment)) return 'down';
  try {
    const apiKey = sealedApiKey === null ? null : sealer.open(sealedApiKey, sealContextOf(id));
    return await probe({ engine, address, apiKey });
  } catch {
    return 'down';
  }
}
