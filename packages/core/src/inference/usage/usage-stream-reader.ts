import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { ratio } from '@millrace/platform/money';
import type { NatsClient, StoredMessage, StreamState } from '@millrace/platform/nats';
import { gauge } from '@millrace/platform/telemetry';
import { advanceUsageWatermark, readUsageWatermarks } from '../../credit-leases/index.ts';

/** The usage stream as one sink follows it, from where the book says that all is worked in. */
export interface UsageStreamReader {
  /**
   * The stream's name, when it was made, and how often it was set back since: one whose places mean other messages than
   * they did has them kept under another name.
   */
  readonly name: string;
  /** What is there, with what comes shortly after it; none after a while without any. */
  gather(signal: AbortSignal): Promise<StoredMessage[]>;
  /** Everything up to here is in the book. */
  passedTo(sequence: bigint): void;
  /** Makes room and looks after it, when it is time to. False: it is not what it was, and must be opened anew. */
  maintain(): Promise<boolean>;
  close(): Promise<void>;
}

export interface UsageStreamReaderOptions {
  readonly db: Db;
  readonly nats: Pick<NatsClient, 'follow' | 'streamState' | 'purgeMessages'>;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'error'>;
  readonly stream: string;
  /** Messages in one transaction. */
  readonly batch: number;
  /** How long the first message of a batch waits for more: fewer, larger transfers. */
  readonly gatherMs: number;
  /** How often to make room in the stream, and to look how full it is. */
  readonly maintenanceIntervalMs: number;
}

const filled = gauge('millrace_usage_stream_filled_ratio', 'How full the usage stream is; alert at half.');
const behind = gauge('millrace_usage_sink_behind', 'Messages of the usage stream not worked through yet.');

/**
 * Where to go on. A stream that ends before what was passed has lost its end, as one has that was restored from a copy, and
 * gives the same places to new messages: they would be taken for read, and purged. So all that it holds is read again under
 * another name, which changes nothing about what is known. The name is written down at once: later, with more in the
 * stream, nothing would tell.
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
  // Looked at after the book, which another sink may be writing.
  const last = (await nats.streamState(stream))?.lastSequence ?? 0;
  if (passed <= BigInt(last)) return { name: nameOf(turn), passed };
  log.error({ stream, passed: String(passed), last }, 'a usage stream has lost its end, and is read anew');
  const name = nameOf(turn + 1);
  await db.transaction({ name: 'read usage anew', isolation: 'read committed' }, (tx) =>
    advanceUsageWatermark(tx, name, 0n),
  );
  return { name, passed: 0n };
}

/**
 * The sequence numbers of a usage stream have no gaps. If the reader continued after a gap, the messages in it would be purged
 * unread, so the stream is opened again. Messages that are missing even then were purged, by an operator or by another sink.
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
      if (missing > 0 && !isFirst) throw new Error(`${missing} messages of ${stream} did not come.`);
      // A stream of which nothing is known yet may begin at any number.
      if (missing > 0 && fromSequence > 1) {
        // The sink that held the stream before may have processed and purged messages after this one read its start position.
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

/** Null when there is no such stream yet. */
export async function openUsageStream(options: UsageStreamReaderOptions): Promise<UsageStreamReader | null> {
  const { nats, clock, log, stream, batch, gatherMs, maintenanceIntervalMs } = options;
  const found = await nats.streamState(stream);
  if (found === null) return null;
  const place = await findStartPosition(options, found.createdAt);
  const { name } = place;
  let { passed } = place;
  const fromSequence = Number(passed) + 1;
  const follower = await nats.follow({ stream, fromSequence, maxBuffered: 2 * batch });
  log.info({ stream: name, fromSequence }, 'usage is being worked through');
  const lookForGaps = createGapCheck({
    log,
    stream,
    fromSequence,
    readPassed: async () => (await readUsageWatermarks(options.db, name)).get(name) ?? 0n,
  });
  let purged = 0n;
  let receivedAtMs = clock.monotonicMs();
  let maintainedAtMs = Number.NEGATIVE_INFINITY;
  let wasHalfFull = false;

  const isPast = (atMs: number, ms: number): boolean => clock.monotonicMs() - atMs >= ms;

  async function purgeProcessed(): Promise<void> {
    if (passed <= purged) return;
    const through = passed;
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
      await purgeProcessed();
      recordStreamState(state);
      // Something is there, and nothing comes: whatever the client believes, it does not follow any more.
      return BigInt(state.lastSequence) <= passed || !isPast(receivedAtMs, 3 * maintenanceIntervalMs);
    },
    close: () => follower.close(),
  };
}
