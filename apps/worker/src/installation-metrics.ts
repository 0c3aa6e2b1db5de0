import { recordLeaseMetrics } from '@millrace/core/credit-leases';
import { recordAbsorbed } from '@millrace/core/ledger';
import { systemClock } from '@millrace/platform/clock';
import { recordReplication, type Db } from '@millrace/platform/db';
import { startLoop } from '@millrace/platform/lifecycle';
import type { WorkerDeps } from './worker-deps.ts';

const EVERY_MS = 30_000;

/** A figure that cannot be read, such as replication at a managed PostgreSQL, must not hide the others. */
export async function recordInstallation(db: Db): Promise<void> {
  const results = await Promise.allSettled(
    [recordReplication, recordLeaseMetrics, recordAbsorbed].map((record) => record(db)),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

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
      await recordInstallation(db);
      return 'idle';
    },
  );
  lifecycle.onDrain('consumers', 'metrics of the installation', () => loop.stop());
}
