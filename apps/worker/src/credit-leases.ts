import { chargeCheckpoints } from '@millrace/core/inference';
import type { RecallCredit } from '@millrace/core/ledger';
import { serveCreditLeases } from '@millrace/core/credit-leases';
import { createRecallRequester } from '@millrace/credit-leases/protocol';
import { systemClock } from '@millrace/platform/clock';
import { systemEnvelope } from '@millrace/platform/envelope';
import type { BackgroundNatsClient } from '@millrace/platform/nats';
import { connectValkey, type ValkeyClient } from '@millrace/platform/valkey';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** The Valkey with the credit leases; null if it is not configured for this worker. */
export async function connectLeaseValkey(
  config: WorkerConfig,
  { lifecycle, log }: Pick<WorkerDeps, 'lifecycle' | 'log'>,
): Promise<ValkeyClient | null> {
  const { url, ca } = config.leaseValkey;
  if (url === null) {
    log.info({}, 'MILLRACE_POT_VALKEY_URL is not set: this worker grants no credit leases');
    return null;
  }
  const valkey = await connectValkey({ url, ca, name: 'millrace-worker', log });
  lifecycle.onDrain('pools', 'pot valkey', () => valkey.close());
  // Not required: without this Valkey only inference stops.
  lifecycle.addCheck({ name: 'pot valkey', required: false, check: () => valkey.ping() });
  return valkey;
}

/** Grants credit leases to gateways, if this worker has their Valkey. */
export function startCreditLeases(
  config: WorkerConfig,
  deps: Pick<WorkerDeps, 'db' | 'nats' | 'valkey' | 'guard' | 'lifecycle' | 'log'>,
): void {
  const { db, nats, valkey, guard, lifecycle, log } = deps;
  const { leaseOutageMs: outageMs, leaseLongestRequestMs: longestRequestMs } = config.worker;
  if (valkey === null) return;
  const leaseServer = serveCreditLeases({
    db,
    valkey,
    nats,
    prefix: config.nats.prefix,
    cell: config.cell.id,
    clock: systemClock,
    log,
    outageMs,
    longestRequestMs,
    chargeUnfinished: chargeCheckpoints,
    mayGrant: (reader) => guard.mayGrant(reader),
  });
  lifecycle.onDrain('consumers', 'pots', () => leaseServer.stop());
}

const RECALL_TIMEOUT_MS = 2_000;

/** Sends the request to a worker with the lease Valkey, which can be another process. */
export function createCreditRecall(config: WorkerConfig, nats: BackgroundNatsClient): RecallCredit {
  const { id: cell } = config.cell;
  return createRecallRequester(nats, {
    prefix: config.nats.prefix,
    homeCell: cell,
    timeoutMs: RECALL_TIMEOUT_MS,
    envelope: systemEnvelope(cell, 'worker'),
  });
}
