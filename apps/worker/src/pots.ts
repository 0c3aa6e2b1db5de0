import { chargeCheckpoints } from '@millrace/core/inference';
import { servePots } from '@millrace/core/pots';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Lifecycle } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { EarlyNatsClient } from '@millrace/platform/nats';
import { connectValkey } from '@millrace/platform/valkey';
import type { WorkerConfig } from './config.ts';

const CHECK_TIMEOUT_MS = 2_000;

/** Lends credit to gateways, if this worker knows the Valkey that they spend from. */
export async function startPots(
  config: WorkerConfig,
  parts: {
    readonly db: Db;
    readonly nats: EarlyNatsClient;
    readonly lifecycle: Lifecycle;
    readonly log: Logger;
  },
): Promise<void> {
  const { db, nats, lifecycle, log } = parts;
  const { potValkeyUrl: url, potOutageMs, potLongestRequestMs } = config.worker;
  if (url === null) {
    log.info({}, 'without a pot Valkey this worker lends no credit for inference');
    return;
  }
  const valkey = await connectValkey({ url, name: 'millrace-worker', log });
  lifecycle.onDrain('pools', 'pot valkey', () => valkey.close());
  // Not required: without it gateways spend nothing either, and everything else goes on.
  lifecycle.addCheck({
    name: 'pot valkey',
    required: false,
    timeoutMs: CHECK_TIMEOUT_MS,
    check: () => valkey.ping(),
  });
  const pots = servePots({
    db,
    valkey,
    nats,
    prefix: config.nats.prefix,
    cell: config.cell.id,
    clock: systemClock,
    log,
    outageMs: potOutageMs,
    longestRequestMs: potLongestRequestMs,
    chargeUnfinished: chargeCheckpoints,
  });
  lifecycle.onDrain('consumers', 'pots', () => pots.stop());
}
