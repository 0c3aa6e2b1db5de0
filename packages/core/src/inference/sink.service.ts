import { isDataError, type Db, type Tx } from '@millrace/platform/db';
import { lockUsage, noteEpochEnd, passUsage } from '../pots/index.ts';
import { keepCheckpoints } from './checkpoints.store.ts';
import { putAside } from './sink.store.ts';
import { recordUsage, type RecordedUsage } from './usage.service.ts';
import { readMessage, refusedUsage, unreadableMessage, type ReadMessage } from './usage-reading.ts';

export interface SinkMessage {
  readonly sequence: number;
  readonly subject: string;
  text(): string;
}

export interface SunkUsage extends RecordedUsage {
  readonly unreadable: number;
  /** Everything up to here is charged or recorded. */
  readonly passed: bigint;
}

interface Placed extends ReadMessage {
  readonly seq: bigint;
}

const nothing: RecordedUsage = { recorded: 0, charged: 0n, shortfall: 0n, uncharged: 0 };

/**
 * Works a run of messages into the book, in one transaction with the place reached. The row of the stream is locked first and
 * says what has been passed: so messages that come again, and a second sink, change nothing.
 */
export async function sinkMessages(
  db: Db,
  stream: string,
  messages: readonly SinkMessage[],
): Promise<SunkUsage> {
  const read = messages.map((message) => ({ ...readMessage(message), seq: BigInt(message.sequence) }));
  try {
    return await write(db, stream, read);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return separately(db, stream, messages, error);
  }
}

/** No trying again will change it: the database refuses what they say, or it comes to more than can be counted. */
function isRefusal(error: unknown): boolean {
  return isDataError(error) || error instanceof RangeError;
}

/**
 * Something in these messages is refused. One that is refused by itself is put aside: what a single gateway writes must not
 * stop the charging of all others.
 */
async function separately(
  db: Db,
  stream: string,
  messages: readonly SinkMessage[],
  refusal: unknown,
): Promise<SunkUsage> {
  const [only] = messages;
  if (only !== undefined && messages.length === 1) return oneByOne(db, stream, only, refusal);
  let sum: SunkUsage | null = null;
  for (const message of messages) sum = plus(sum, await sinkMessages(db, stream, [message]));
  if (sum === null) throw refusal;
  return sum;
}

/**
 * The requests of a refused message each by itself, for most of them have nothing to do with it; then its place is passed.
 * Dying in between is harmless: what was written is known when it is read again.
 */
async function oneByOne(db: Db, stream: string, message: SinkMessage, refusal: unknown): Promise<SunkUsage> {
  const seq = BigInt(message.sequence);
  const read = readMessage(message);
  // What comes to more than all money there is was not written by a gateway of ours: no part of it is believed.
  if (read.usage.length < 2 || !isDataError(refusal)) {
    return write(db, stream, [{ ...unreadableMessage(message.text(), refusal), seq }]);
  }
  const unreadable = [...read.unreadable];
  let sum: SunkUsage | null = null;
  for (const [index, used] of read.usage.entries()) {
    try {
      const alone = { usage: [used], ends: [], unreadable: [], seq };
      sum = plus(sum, await write(db, stream, [alone], 'stay'));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      unreadable.push(refusedUsage(read, index, error));
    }
  }
  return plus(sum, await write(db, stream, [{ usage: [], ends: read.ends, unreadable, seq }]));
}

function plus(before: SunkUsage | null, next: SunkUsage): SunkUsage {
  if (before === null) return next;
  return {
    recorded: before.recorded + next.recorded,
    charged: before.charged + next.charged,
    shortfall: before.shortfall + next.shortfall,
    uncharged: before.uncharged + next.uncharged,
    unreadable: before.unreadable + next.unreadable,
    passed: next.passed,
  };
}

function write(
  db: Db,
  stream: string,
  messages: readonly Placed[],
  afterwards: 'pass' | 'stay' = 'pass',
): Promise<SunkUsage> {
  return db.transaction({ name: 'sink usage', isolation: 'read committed' }, async (tx) => {
    const passed = await lockUsage(tx, stream);
    const fresh = messages.filter(({ seq }) => seq > passed);
    const last = fresh.at(-1);
    if (last === undefined) return { ...nothing, unreadable: 0, passed };
    const recorded = await writeUsage(tx, fresh);
    for (const { ends, seq } of fresh) {
      for (const end of ends) await noteEpochEnd(tx, end, { stream, seq });
    }
    const unreadable = fresh.flatMap(({ unreadable: found, seq }) => found.map((one) => ({ ...one, seq })));
    await putAside(tx, stream, unreadable);
    if (afterwards === 'stay') return { ...recorded, unreadable: unreadable.length, passed };
    await passUsage(tx, stream, last.seq);
    return { ...recorded, unreadable: unreadable.length, passed: last.seq };
  });
}

/** Final events first: a checkpoint of the same request is then known to be needless. */
async function writeUsage(tx: Tx, messages: readonly Placed[]): Promise<RecordedUsage> {
  const usage = messages.flatMap((message) => message.usage);
  const finals = usage.filter(({ event }) => event.kind === 'final');
  const recorded = finals.length === 0 ? nothing : await recordUsage(tx, finals, 'final');
  await keepCheckpoints(
    tx,
    usage.filter(({ event }) => event.kind === 'checkpoint'),
  );
  return recorded;
}
