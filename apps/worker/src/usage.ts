import {
  createDeferredUsageCharger,
  ensureUsageStream,
  maintainUsageTables,
  startUsageSink,
  usageSubjects,
} from '@millrace/core/inference';
import { systemClock } from '@millrace/platform/clock';
import { startLoop } from '@millrace/platform/lifecycle';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';
import { waitForConnection } from './wait-for-nats.ts';

const MEBIBYTE = 1_048_576;
const STREAM_CHECK_MS = 60_000;
/** Interval while NATS or the stream is unavailable. */
const STREAM_RETRY_MS = 1_000;
const DEFERRED_EVERY_MS = 1_000;
const TABLES_EVERY_MS = 3_600_000;
/** A database that is restored to a point in this time charges the usage of the lost period again. */
const USAGE_RETAINED_MS = 3_600_000;

/** Maintains the cell's usage stream and its tables, and charges and records usage. */
export function startUsage(
  config: WorkerConfig,
  deps: Pick<WorkerDeps, 'db' | 'nats' | 'lifecycle' | 'log' | 'holder'>,
): void {
  const { db, nats, lifecycle, log, holder } = deps;
  const { prefix, replicas } = config.nats;
  const cell = config.cell.id;
  const clock = systemClock;
  const deferred = createDeferredUsageCharger({ db, log });
  const loops = [
    startLoop(
      { name: 'keep the usage stream', clock, log, idleMs: STREAM_CHECK_MS, maxBackoffMs: STREAM_RETRY_MS },
      async (signal) => {
        await waitForConnection(nats, signal);
        if (signal.aborted) return 'idle';
        const maxBytes = config.worker.usageStreamMaxMebibytes * MEBIBYTE;
        await ensureUsageStream(db, nats, { prefix, cell, replicas, maxBytes });
        return 'idle';
      },
    ),
    startLoop({ name: 'keep the usage tables', clock, log, idleMs: TABLES_EVERY_MS }, () =>
      maintainUsageTables(db),
    ),
    startLoop({ name: 'charge deferred usage', clock, log, idleMs: DEFERRED_EVERY_MS }, (signal) =>
      deferred.step(signal),
    ),
  ];
  for (const loop of loops) lifecycle.onDrain('accept', 'usage upkeep', () => loop.stop());
  const { stream } = usageSubjects(prefix, cell);
  const sink = startUsageSink({
    ...{ db, nats, clock: systemClock, log, stream, holder },
    tuning: { retainMs: USAGE_RETAINED_MS },
  });
  lifecycle.onDrain('consumers', 'usage sink', () => sink.stop());
}
