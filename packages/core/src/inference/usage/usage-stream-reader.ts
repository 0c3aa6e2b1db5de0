import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { ratio } from '@millrace/platform/money';
import type { NatsClient, StoredMessage, StreamState } from '@millrace/platform/nats';
import { gauge } from '@millrace/platform/telemetry';
import { advanceUsageWatermark, readUsageWatermarks } from '../../credit-leases/index.ts';
import { PurgeDelay } from './purge-delay.ts';

/** Reads the usage stream for one sink, starting at the watermark. */
export interface UsageStreamReader {
  /** Stream name, creation time and number of resets. A stream whose sequence numbers were reused gets a new name. */
  readonly name: string;
  /** The available messages and those that arrive shortly after; empty after a time without any. */
  gather(signal: AbortSignal): Promise<StoredMessage[]>;
  /** Everything up to here is processed. */
  passedTo(sequence: bigint): void;
  /** Purges processed messages and checks the stream when due. False if the stream has changed and must be opened again. */
  maintain(): Promise<boolean>;
  close(): Promise<void>;
}

export interface UsageStreamReaderOptions {
  readonly db: Db;
  readonly nats: Pick<NatsClient, 'follow' | 'streamState' | 'purgeMessages'>;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'error'>;
  readonly stream: string;
  /** Messages per transaction. */
  readonly batch: number;
  /** How long the first message of a batch waits for more, so that transfers are fewer and larger. */
  readonly gatherMs: number;
  /** How often to purge processed messages and to check how full the stream is. */
  readonly maintenanceIntervalMs: number;
  /** How long processed messages stay in the stream, unless it is more than a quarter full. */
  readonly retainMs: number;
}

const filled = gauge('millrace_usage_stream_filled_ratio');
const behind = gauge('millrace_usage_sink_behind');

/**
 * Finds the position to continue at. A stream that ends before the watermark has lost its end, for example after a restore, and
 * reuses sequence numbers: new messages would count as processed and be purged. So the whole stream is read again under another
 * name, which changes nothing about known requests. The name is stored at once: with more messages the loss is undetectable.
 */
async function findStartPosition(
  { db, nats, stream, log }: Pick<UsageStreamReaderOptions, 'db' | 'nats' | 'stream' | 'log'>,
  createdAt: string,
): Promise<{ readonly name: string; readonly passed: bigint }> {
  const made = `${stream}@${createdAt}`;
  const places = await readUsageWatermarks(db, made);
  const nameOf = (turn: number): string => (turn === 0 ? made : `${made}#${turn}`);
  let turn = 0;
  while (places.has(nameOf(turn + 1))) turn += 1;
  const passed = places.get(nameOf(turn)) ?? 0n;
  // Read after the watermark, which another sink may be advancing.
  const last = (await nats.streamState(stream))?.lastSequence ?? 0;
  if (passed <= BigInt(last)) return { name: nameOf(turn), passed };
  log.error({ stream, passed: String(passed), last }, 'a usage stream has lost its end; reading it again');
  const name = nameOf(turn + 1);
  await db.transaction({ name: 'read usage anew', isolation: 'read committed' }, (tx) =>
    advanceUsageWatermark(tx, name, 0n),
  );
  return { name, passed: 0n };
}

/**
 * The sequence numbers of a usage stream have no gaps. Messages in a gap would be purged unread, so the stream is opened again.
 * Messages that are missing even then were purged by an operator or by another sink.
 */
function createGapCheck({
  log,
  stream,
  fromSequence,
  readPassed,
}: {
  readonly log: Pick<Logger, 'error'>;
  readonly stream: string;
  readonly fromSequence: number;
  readonly readPassed: () => Promise<bigint>;
}): (messages: readonly StoredMessage[]) => Promise<void> {
  let expected = fromSequence;
  let isFirst = true;
  return async (messages) => {
    for (const { sequence } of messages) {
      const missing = sequence - expected;
      if (missing > 0 && !isFirst) throw new Error(`${missing} messages of ${stream} were not delivered.`);
      // The first read of a stream can begin at any number.
      if (missing > 0 && fromSequence > 1) {
        // The previous sink may have processed and purged messages after this one read its start position.
        const passed = await readPassed();
        const lost = sequence - 1 - Math.max(Number(passed), expected - 1);
        if (lost > 0)
          log.error({ stream, expected, sequence, missing: lost }, 'usage was purged before it was charged');
      }
      expected = sequence + 1;
      isFirst = false;
    }
  };
}

/** Null if the stream does not exist yet. */
export async function openUsageStream(options: UsageStreamReaderOptions): Promise<UsageStreamReader | null> {
  const { nats, clock, log, stream, batch, gatherMs, maintenanceIntervalMs, retainMs } = options;
  const found = await nats.streamState(stream);
  if (found === null) return null;
  const place = await findStartPosition(options, found.createdAt);
  const { name } = place;
  let { passed } = place;
  const fromSequence = Number(passed) + 1;
  const follower = await nats.follow({ stream, fromSequence, maxBuffered: 2 * batch });
  log.info({ stream: name, fromSequence }, 'processing usage');
  const lookForGaps = createGapCheck({
    log,
    stream,
    fromSequence,
    readPassed: async () => (await readUsageWatermarks(options.db, name)).get(name) ?? 0n,
  });
  const delay = new PurgeDelay(retainMs);
  let purged = 0n;
  let receivedAtMs = clock.monotonicMs();
  let maintainedAtMs = Number.NEGATIVE_INFINITY;
  let wasHalfFull = false;

  const isPast = (atMs: number, ms: number): boolean => clock.monotonicMs() - atMs >= ms;

  async function purgeProcessed({ bytes, maxBytes }: StreamState): Promise<void> {
    const isCrowded = maxBytes > 0 && 4 * bytes >= maxBytes;
    const through = delay.through(clock.monotonicMs(), passed, isCrowded);
    if (through <= purged) return;
    await nats.purgeMessages(stream, Number(through));
    purged = through;
  }

  function recordStreamState({ bytes, maxBytes, lastSequence }: StreamState): void {
    behind.record(Math.max(0, lastSequence - Number(passed)));
    filled.record(ratio(bytes, maxBytes));
    const isHalfFull = maxBytes > 0 && 2 * bytes >= maxBytes;
    if (isHalfFull && !wasHalfFull) log.error({ stream, bytes, maxBytes }, 'the usage stream is half full');
    wasHalfFull = isHalfFull;
  }

  return {
    name,
    async gather(signal) {
      const messages = await follower.take(batch, maintenanceIntervalMs);
      const untilMs = clock.monotonicMs() + gatherMs;
      while (messages.length > 0 && messages.length < batch && !signal.aborted) {
        const leftMs = untilMs - clock.monotonicMs();
        if (leftMs <= 0) break;
        messages.push(...(await follower.take(batch - messages.length, leftMs)));
      }
      if (messages.length > 0) receivedAtMs = clock.monotonicMs();
      await lookForGaps(messages);
      return messages;
    },
    passedTo: (sequence) => void (passed = sequence),
    async maintain() {
      if (!isPast(maintainedAtMs, maintenanceIntervalMs)) return true;
      maintainedAtMs = clock.monotonicMs();
      const state = await nats.streamState(stream);
      if (state?.createdAt !== found.createdAt || BigInt(state.lastSequence) < passed) return false;
      await purgeProcessed(state);
      recordStreamState(state);
      // If messages exist and none arrive, the client has stopped following the stream.
      return BigInt(state.lastSequence) <= passed || !isPast(receivedAtMs, 3 * maintenanceIntervalMs);
    },
    close: () => follower.close(),
  };
}
