import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { NatsClient, StoredMessage } from '@millrace/platform/nats';
import { continueTrace } from '@millrace/platform/telemetry';
import { KeyUsage } from '../../identity/index.ts';
import { processMessages, SharedTimeout, type SinkResult } from './sink.service.ts';
import { claimStream, releaseStream } from './sink.store.ts';
import { openUsageStream } from './usage-stream-reader.ts';
import type { UsageStreamReader, UsageStreamReaderOptions } from './usage-stream-reader.ts';
import { countCharged, countDeferred, countProcessed, countUnreadable } from './usage-metrics.ts';

export interface UsageSinkOptions extends Pick<UsageStreamReaderOptions, 'stream'> {
  readonly db: Db;
  readonly nats: UsageStreamReaderOptions['nats'] & Pick<NatsClient, 'connected'>;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Identifies this process among the possible sinks. */
  readonly holder: string;
  readonly tuning?: Partial<SinkTuning>;
}

export interface SinkTuning extends Pick<
  UsageStreamReaderOptions,
  'batch' | 'gatherMs' | 'maintenanceIntervalMs' | 'retainMs'
> {
  /** A sink that does not renew its claim for this long is replaced. */
  readonly leaseMs: number;
}

const defaults: SinkTuning = {
  leaseMs: 3_000,
  gatherMs: 50,
  batch: 40,
  maintenanceIntervalMs: 1_000,
  retainMs: 0,
};
/** Fraction of the claim time, so that one missed renewal does not lose the claim. */
const renewFraction = 0.3;
/** After so many failed attempts, a batch whose organisations all time out is deferred, because later usage waits behind it. */
const maxFailedAttempts = 3;

/** Processes the usage stream of a cell. Every worker runs a sink; one of them holds the claim, the others stand by. */
export function startUsageSink(options: UsageSinkOptions): { stop(): Promise<void> } {
  const { db, nats, clock, log, stream, holder } = options;
  const tuning: SinkTuning = { ...defaults, ...options.tuning };
  const renewMs = Math.trunc(tuning.leaseMs * renewFraction);
  let open: UsageStreamReader | null = null;
  let claimedAtMs = Number.NEGATIVE_INFINITY;
  let repetitions = 0;
  // After the charges, in separate transactions: rows of keys are never locked together with those of the ledger.
  const keyUsage = new KeyUsage({ db, clock, log });
  const stopping = new AbortController();
  const notingUse = keyUsage.run(stopping.signal);

  async function holdsClaim(): Promise<boolean> {
    const atMs = clock.monotonicMs();
    if (atMs - claimedAtMs < renewMs) return true;
    const held = await claimStream(db, { stream, holder, ttlMs: tuning.leaseMs });
    claimedAtMs = held ? atMs : Number.NEGATIVE_INFINITY;
    return held;
  }

  async function closeStream(): Promise<void> {
    const closing = open;
    open = null;
    await closing?.close();
  }

  async function write(name: string, messages: readonly StoredMessage[]): Promise<SinkResult> {
    const spans = startChargeSpans(messages);
    try {
      const result = await processMessages(db, name, messages, {
        whenAllTimeOut: repetitions < maxFailedAttempts ? 'repeat' : 'defer',
        noteUse: (keyId, usedAtMs) => keyUsage.note(keyId, usedAtMs),
      });
      repetitions = 0;
      countProcessed(messages.length);
      return result;
    } catch (error) {
      if (error instanceof SharedTimeout) repetitions += 1;
      throw error;
    } finally {
      for (const span of spans) span.end();
    }
  }

  async function step(signal: AbortSignal): Promise<'busy' | 'idle'> {
    // Without a connection, another worker should claim the stream.
    if (!nats.connected() || !(await holdsClaim())) {
      await closeStream();
      return 'idle';
    }
    open ??= await openUsageStream({ ...options, ...tuning });
    if (open === null) return 'idle';
    const messages = await open.gather(signal);
    if (messages.length > 0) {
      const result = await write(open.name, messages);
      open.passedTo(result.passed);
      logResult(log, result);
    }
    if (!(await open.maintain())) await closeStream();
    return 'busy';
  }

  const loop = startLoop({ name: 'work through usage', clock, log, idleMs: renewMs }, async (signal) => {
    try {
      return await step(signal);
    } catch (error) {
      // Messages that were read and not written are read again from the watermark.
      await closeStream().catch(() => undefined);
      throw error;
    }
  });
  return {
    async stop() {
      await loop.stop();
      await closeStream().catch(() => undefined);
      stopping.abort();
      await notingUse;
      await releaseStream(db, stream, holder).catch(() => undefined);
    },
  };
}

/** One for each sampled request: they share the transaction that charges the batch. */
function startChargeSpans(messages: readonly StoredMessage[]) {
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.type': 'process',
    'messaging.batch.message_count': messages.length,
  };
  return messages.flatMap(({ envelope }) => {
    const traceparent = envelope?.traceparent ?? null;
    return continueTrace(traceparent, 'charge usage', { kind: 'consumer', attributes }) ?? [];
  });
}

function logResult(log: UsageSinkOptions['log'], result: SinkResult): void {
  countCharged(result);
  countDeferred(result.deferred);
  countUnreadable(result.unreadable);
  const passed = String(result.passed);
  if (result.shortfall > 0n) {
    log.warn({ shortfallNanoUsd: String(result.shortfall) }, 'requests used more than their reservations');
  }
  if (result.overpriced > 0) {
    log.error(
      { count: result.overpriced, passed },
      'usage above the maximum cost of its model was not charged',
    );
  }
  if (result.deferred > 0) {
    log.warn({ count: result.deferred, passed }, 'deferred usage that could not be charged now');
  }
  if (result.unreadable > 0) {
    log.error({ count: result.unreadable, passed }, 'quarantined usage that could not be read');
  }
}
