import { connectDriver } from '@millrace/compute/connect';
import { createDriverPool, listClusters, type ClusterRecord } from '@millrace/core/fleet';
import { appendAuditEntry, systemAuditContext } from '@millrace/core/identity';
import { allowOrphanRemoval, dryRun, formatDryRun } from '@millrace/core/rentals';
import { lostPeriodOf, mayHaveLostRow, readRestoreState } from '@millrace/core/restore';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { createLogger } from '@millrace/platform/log';
import { optionalText, CommandError, requiredText, UsageError, type Command } from './command.ts';

/** What the reconciler would do, and the word of a person that it waits for. */

export const reconcileCommand: Command = {
  name: 'reconcile',
  summary: 'say what differs between engines and rentals, without repairing it',
  flags: {
    'dry-run': { describe: 'only look: the workers repair, every ten seconds' },
    cluster: { describe: 'look at this cluster alone, by its name', value: 'NAME' },
    json: { describe: 'print one JSON object for programs' },
  },
  example: 'millrace-admin reconcile --dry-run',
  run: async (context, flags) => {
    if (flags['dry-run'] !== true) {
      throw new UsageError('Workers repair by themselves; this command only looks. Say --dry-run.');
    }
    const db = await context.db();
    const { credentials, guard } = context.fleet();
    const clock = systemClock;
    const log = createLogger({ name: 'admin', level: 'silent' });
    const drivers = createDriverPool({
      db,
      log,
      connect: (cluster) => connectDriver(cluster, { db, clock, log, credentials, guard, opensPorts: false }),
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
  summary: 'let the workers remove many machines that no rental knows',
  flags: {
    cluster: { describe: 'on this cluster, by its name', value: 'NAME', required: true },
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
      `Until ${until.toISOString()} the workers remove every stray of ${cluster.name}, few at a time.\n`,
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
