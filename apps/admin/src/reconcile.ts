import { connectDriver } from '@millrace/compute/connect';
import { createDriverPool, listClusters, type ClusterRecord } from '@millrace/core/fleet';
import { appendAuditEntry, systemAuditContext } from '@millrace/core/identity';
import { allowOrphanRemoval, dryRun, formatDryRun } from '@millrace/core/rentals';
import { lostPeriodOf, mayHaveLostRow, readRestoreState } from '@millrace/core/restore';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { createLogger } from '@millrace/platform/log';
import { optionalText, CommandError, requiredText, UsageError, type Command } from './command.ts';

/** Dry run of the inventory reconciler, and approval of the orphan removal that it waits for. */

export const reconcileCommand: Command = {
  name: 'reconcile',
  summary: 'show differences between engines and rentals without repairing them',
  flags: {
    'dry-run': { describe: 'required: this command only reports, workers repair every ten seconds' },
    cluster: { describe: 'compare only the cluster with this name', value: 'NAME' },
    json: { describe: 'print one JSON object' },
  },
  example: 'millrace-admin reconcile --dry-run',
  run: async (context, flags) => {
    if (flags['dry-run'] !== true) {
      throw new UsageError('Workers repair automatically; this command only reports. Add --dry-run.');
    }
    const db = await context.db();
    const engines = context.fleet();
    const clock = systemClock;
    const log = createLogger({ name: 'admin', level: 'silent' });
    const drivers = createDriverPool({
      db,
      log,
      connect: (cluster) => connectDriver(cluster, { ...engines, db, clock, log, opensPorts: false }),
    });
    try {
      const name = optionalText(flags, 'cluster');
      const lost = lostPeriodOf(await readRestoreState(db));
      const run = await dryRun({
        db,
        clock,
        drivers: (clusterId) => drivers.of(clusterId),
        mayHaveLostRow: (machine) => mayHaveLostRow(lost, machine),
        ...(name === undefined ? {} : { cluster: name }),
      });
      if (run === null) throw clusterNotFoundError(name);
      context.out(flags['json'] === true ? `${JSON.stringify(run)}\n` : formatDryRun(run));
    } finally {
      await drivers.close();
    }
  },
};

const ALLOWED_MS = 3_600_000;

export const allowOrphanRemovalCommand: Command = {
  name: 'strays allow',
  summary: 'approve the removal of many orphaned machines',
  flags: {
    cluster: { describe: 'name of the cluster', value: 'NAME', required: true },
    reason: { describe: 'why, for the audit log', value: 'TEXT', required: true },
  },
  example: 'millrace-admin strays allow --cluster eu-1 --reason "leftovers of the old project"',
  run: async (context, flags) => {
    const db = await context.db();
    const cluster = await requireCluster(db, requiredText(flags, 'cluster'));
    const until = new Date(systemClock.nowMs() + ALLOWED_MS);
    await db.transaction({ name: 'allow reaping', isolation: 'read committed' }, async (tx) => {
      await allowOrphanRemoval(tx, cluster.id, until);
      await appendAuditEntry(tx, null, systemAuditContext('millrace-admin', cluster.mode), {
        action: 'strays.allowed',
        resource: { kind: 'cluster', id: cluster.id },
        after: { until },
        reason: requiredText(flags, 'reason'),
      });
    });
    context.out(
      `Until ${until.toISOString()} the workers remove all orphans of ${cluster.name}, a few at a time.\n`,
    );
  },
};

async function requireCluster(db: Db, name: string): Promise<ClusterRecord> {
  let after: ClusterRecord['id'] | null = null;
  for (;;) {
    const page: readonly ClusterRecord[] = await listClusters(db, {}, { limit: 200, after });
    const found = page.find((cluster) => cluster.name === name);
    if (found !== undefined) return found;
    if (page.length <= 200) throw clusterNotFoundError(name);
    after = page[199]?.id ?? null;
  }
}

function clusterNotFoundError(name: string | undefined): CommandError {
  return new CommandError(`There is no cluster ${JSON.stringify(name)}.`);
}
