import { recordLeaseMetrics } from '@millrace/core/credit-leases';
import { recordAbsorbed } from '@millrace/core/ledger';
import { systemClock } from '@millrace/platform/clock';
import { recordReplication } from '@millrace/platform/db';
import { startLoop } from '@millrace/platform/lifecycle';
import type { WorkerDeps } from './worker-deps.ts';

const EVERY_MS = 30_000;

/**
 * Records metrics of the whole installation: four short queries in each worker, so that alerts take the maximum and one
 * failed worker hides nothing.
 */
export function startInstallationMetrics({
  db,
  lifecycle,
  log,
}: Pick<WorkerDeps, 'db' | 'lifecycle' | 'log'>): void {
  const loop = startLoop(
    {
      name: 'record metrics of the installation',
      clock: systemClock,
      log,
      idleMs: EVERY_MS,
      maxBackoffMs: EVERY_MS,
    },
    async () => {
      await recordReplication(db);
      await recordLeaseMetrics(db);
      await recordAbsorbed(db);
      return 'idle';
    },
  );
  lifecycle.onDrain('consumers', 'metrics of the installation', () => loop.stop());
}
