import { isDataError, isStatementTimeout, type Db, type Tx } from '@millrace/platform/db';
import type { KeyId, LeaseId, OrgId } from '@millrace/platform/ids';
import { LedgerError } from '../../ledger/index.ts';
import {
  advanceUsageWatermark,
  deferUsage,
  groupKeyOf,
  listDeferredGroupKeys,
  lockUsageWatermark,
  recordEpochEnd,
  type DeferredUsage,
} from '../../credit-leases/index.ts';
import { upsertCheckpoints } from './checkpoints.store.ts';
import { quarantineUsage } from './sink.store.ts';
import { recordUsage, type UsageSummary } from './usage.service.ts';
import { parseMessage, rejectedUsage, unreadableMessage } from './parse-usage.ts';
import type { PositionedUsage, ParsedMessage, ParsedUsage } from './parse-usage.ts';

export interface SinkMessage {
  readonly sequence: number;
  readonly subject: string;
  text(): string;
}

export interface SinkResult extends UsageSummary {
  readonly unreadable: number;
  /** Events that could not be charged now and are stored to be charged later. */
  readonly deferred: number;
  /** The watermark: everything up to here is charged, recorded, deferred or quarantined. */
  readonly passed: bigint;
}

/**
 * A time-out that no single organisation caused: the stream's row is locked, or the usage of every organisation that was tried
 * timed out. The batch is repeated and nothing is deferred.
 */
export class SharedTimeout extends Error {
  override readonly name = 'SharedTimeout';

  constructor(where: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`Could not write usage (${where}): ${why}. The batch will be repeated.`, { cause });
  }
}

export interface SinkBatchOptions {
  /** If the usage of every organisation of a batch times out: `repeat` throws a SharedTimeout, `defer` defers it. */
  readonly whenAllTimeOut?: 'repeat' | 'defer';
  /** Called for each event after its transaction, and again for events that are read again. */
  readonly noteUse?: (keyId: KeyId, usedAtMs: number) => void;
  /** From 0 up to 1; chooses the organisation that is tried first. */
  readonly random?: () => number;
}

interface PositionedMessage extends ParsedMessage {
  readonly seq: bigint;
}

const emptySummary: UsageSummary = { recorded: 0, charged: 0n, shortfall: 0n, uncharged: 0, overpriced: 0 };

/** After this many time-outs the rest of a batch is deferred untried, because each time-out blocks the whole stream. */
const maxTimeouts = 3;

class DeferredOrganisations {
  readonly #orgs = new Set<OrgId>();
  #timeouts = 0;

  has(orgId: OrgId): boolean {
    return this.#timeouts >= maxTimeouts || this.#orgs.has(orgId);
  }

  get timeouts(): number {
    return this.#timeouts;
  }

  add(orgId: OrgId, error: unknown): void {
    this.#orgs.add(orgId);
    if (isStatementTimeout(error)) this.#timeouts += 1;
  }
}

/**
 * Writes messages and the new watermark in one transaction. The stream's row is locked first and has the watermark, so
 * redelivered messages and a second sink change nothing. If the usage of one organisation cannot be charged, it is deferred.
 */
export function processMessages(
  db: Db,
  stream: string,
  messages: readonly SinkMessage[],
  options: SinkBatchOptions = {},
): Promise<SinkResult> {
  return processBatch({ db, stream, held: new DeferredOrganisations(), options }, messages);
}

interface SinkBatch {
  readonly db: Db;
  readonly stream: string;
  readonly held: DeferredOrganisations;
  readonly options: SinkBatchOptions;
}

async function processBatch(to: SinkBatch, messages: readonly SinkMessage[]): Promise<SinkResult> {
  const read = messages.map((message) => ({ ...parseMessage(message), seq: BigInt(message.sequence) }));
  try {
    return await write(to, read);
  } catch (error) {
    if (isDeferrable(error)) {
      const sum = await deferFailingOrganisations(to, read, error);
      return addResults(sum, await processBatch(to, messages));
    }
    if (!isPermanentFailure(error)) throw error;
    return processSeparately(to, messages, error);
  }
}

/** The ledger rejected the charge (the hold of the lease is closed or missing) or it timed out: a later attempt may succeed. */
function isDeferrable(error: unknown): boolean {
  return error instanceof LedgerError || isStatementTimeout(error);
}

/** A retry would fail too: the database rejects the usage, or its amount is too large. */
function isPermanentFailure(error: unknown): boolean {
  return isDataError(error) || error instanceof RangeError;
}

/**
 * Writes the usage of each organisation separately and defers those that fail. If all that were tried time out, the cause is
 * shared (such as a locked table or operator account), and none is deferred. The first one is chosen at random, so that a
 * repetition compares other organisations.
 */
async function deferFailingOrganisations(
  to: SinkBatch,
  messages: readonly PositionedMessage[],
  failure: unknown,
): Promise<SinkResult | null> {
  const orgs = organisationsOf(messages);
  const open = [...orgs].filter((orgId) => !to.held.has(orgId));
  const [only] = open;
  if (only === undefined) throw failure;
  if (orgs.size === 1) {
    to.held.add(only, failure);
    return null;
  }
  let sum: SinkResult | null = null;
  let isWritten = false;
  const failed = new Map<OrgId, unknown>();
  for (const orgId of rotated(open, to.options.random)) {
    if (to.held.timeouts + countTimeouts(failed) >= maxTimeouts) break;
    try {
      const part = messages.map((message) => usageOfOrganisation(message, orgId));
      sum = addResults(sum, await write(to, part, 'stay'));
      isWritten = true;
    } catch (error) {
      // The rest of the batch meets the same rejection by the database, and quarantines it then.
      if (isPermanentFailure(error)) isWritten = true;
      else if (isDeferrable(error)) failed.set(orgId, error);
      else throw error;
    }
  }
  const timeouts = countTimeouts(failed);
  const isShared = !isWritten && timeouts > 1 && timeouts === failed.size;
  if (isShared && to.options.whenAllTimeOut !== 'defer') {
    throw new SharedTimeout(`all ${timeouts} organisations that were tried timed out`, failure);
  }
  // Each could be written alone, so the failure has ended or concerns the whole batch: repeat the batch.
  if (failed.size === 0) throw failure;
  for (const [orgId, error] of failed) to.held.add(orgId, error);
  return sum;
}

/** The list, starting at a random position. */
function rotated<T>(list: readonly T[], random = Math.random): readonly T[] {
  const start = Math.floor(random() * list.length);
  return [...list.slice(start), ...list.slice(0, start)];
}

function countTimeouts(failed: ReadonlyMap<OrgId, unknown>): number {
  return [...failed.values()].filter(isStatementTimeout).length;
}

function organisationsOf(messages: readonly PositionedMessage[]): ReadonlySet<OrgId> {
  return new Set(messages.flatMap(({ usage, ends }) => [...usage, ...ends].map(({ orgId }) => orgId)));
}

function usageOfOrganisation({ usage, ends, seq }: PositionedMessage, orgId: OrgId): PositionedMessage {
  return {
    usage: usage.filter((used) => used.orgId === orgId),
    ends: ends.filter((end) => end.orgId === orgId),
    unreadable: [],
    seq,
  };
}

/** Writes the messages of a rejected batch separately and quarantines the rejected one: one gateway must not stop all charges. */
async function processSeparately(to: SinkBatch, messages: readonly SinkMessage[], cause: unknown) {
  const [only] = messages;
  if (only !== undefined && messages.length === 1) return processOneByOne(to, only, cause);
  let sum: SinkResult | null = null;
  for (const message of messages) sum = addResults(sum, await processBatch(to, [message]));
  if (sum === null) throw cause;
  return sum;
}

/**
 * Writes the requests of a rejected message separately, because most of them are valid; then advances the watermark. A crash
 * in between is harmless: written requests are recognised when they are read again.
 */
async function processOneByOne(to: SinkBatch, message: SinkMessage, cause: unknown): Promise<SinkResult> {
  const seq = BigInt(message.sequence);
  const read = parseMessage(message);
  // Amounts that overflow were not written by a valid gateway: quarantine the whole message.
  if (read.usage.length < 2 || !isDataError(cause)) {
    return write(to, [{ ...unreadableMessage(message.text(), cause), seq }]);
  }
  const unreadable = [...read.unreadable];
  const waiting: PositionedUsage[] = [];
  let sum: SinkResult | null = null;
  for (const used of read.usage) {
    if (to.held.has(used.orgId)) {
      waiting.push(used);
      continue;
    }
    try {
      const alone = { usage: [used], ends: [], unreadable: [], seq };
      sum = addResults(sum, await write(to, [alone], 'stay'));
    } catch (error) {
      if (isDeferrable(error)) {
        to.held.add(used.orgId, error);
        waiting.push(used);
      } else if (isPermanentFailure(error)) unreadable.push(rejectedUsage(used, error));
      else throw error;
    }
  }
  return addResults(sum, await write(to, [{ usage: waiting, ends: read.ends, unreadable, seq }]));
}

function addResults(before: SinkResult | null, next: SinkResult): SinkResult {
  if (before === null) return next;
  return {
    recorded: before.recorded + next.recorded,
    charged: before.charged + next.charged,
    shortfall: before.shortfall + next.shortfall,
    uncharged: before.uncharged + next.uncharged,
    overpriced: before.overpriced + next.overpriced,
    unreadable: before.unreadable + next.unreadable,
    deferred: before.deferred + next.deferred,
    passed: next.passed,
  };
}

async function write(
  { db, stream, held, options }: SinkBatch,
  messages: readonly PositionedMessage[],
  afterwards: 'pass' | 'stay' = 'pass',
): Promise<SinkResult> {
  const written = await db.transaction({ name: 'sink usage', isolation: 'read committed' }, async (tx) => {
    const passed = await asSharedTimeout('the row of the stream is locked', lockUsageWatermark(tx, stream));
    const fresh = messages.filter(({ seq }) => seq > passed);
    const last = fresh.at(-1);
    if (last === undefined) return { ...emptySummary, unreadable: 0, deferred: 0, passed };
    const { now, later } = await splitDeferred(tx, fresh, held);
    const usageNow = now.flatMap(({ usage }) => usage);
    const recorded = await writeUsage(tx, usageNow);
    for (const { ends, seq } of now) {
      for (const end of ends) await recordEpochEnd(tx, end, { stream, seq });
    }
    const deferred = await asSharedTimeout('deferring usage', deferUsage(tx, stream, later));
    const unreadable = fresh.flatMap(({ unreadable: found, seq }) => found.map((one) => ({ ...one, seq })));
    await asSharedTimeout('quarantining usage', quarantineUsage(tx, stream, unreadable));
    const result = { ...recorded, unreadable: unreadable.length, deferred };
    if (afterwards === 'stay') return { ...result, passed };
    await asSharedTimeout('writing the watermark', advanceUsageWatermark(tx, stream, last.seq));
    return { ...result, passed: last.seq };
  });
  for (const { usage } of messages) {
    for (const { keyId, event } of usage) options.noteUse?.(keyId, event.createdAtMs);
  }
  return written;
}

/** A time-out here is caused by the stream, not by an organisation. */
async function asSharedTimeout<T>(where: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isStatementTimeout(error)) throw new SharedTimeout(where, error);
    throw error;
  }
}

/** Defers usage of a lease that has earlier deferred usage: the loop charges both. */
async function splitDeferred(
  tx: Tx,
  messages: readonly PositionedMessage[],
  held: DeferredOrganisations,
): Promise<{ readonly now: readonly PositionedMessage[]; readonly later: readonly DeferredUsage[] }> {
  const groups = messages.flatMap(({ usage, ends }) => [
    ...usage.map(({ orgId, leaseId }) => ({ orgId, leaseId })),
    ...ends.map(({ orgId }) => ({ orgId, leaseId: null })),
  ]);
  const waiting = await asSharedTimeout('reading deferred usage', listDeferredGroupKeys(tx, groups));
  const isLater = (orgId: OrgId, leaseId: LeaseId | null): boolean =>
    held.has(orgId) || waiting.has(groupKeyOf({ orgId, leaseId }));
  const now = messages.map((message) => ({
    ...message,
    usage: message.usage.filter(({ orgId, leaseId }) => !isLater(orgId, leaseId)),
    ends: message.ends.filter(({ orgId }) => !isLater(orgId, null)),
  }));
  const later = messages.flatMap(({ usage, ends, seq }): DeferredUsage[] => [
    ...usage
      .filter(({ orgId, leaseId }) => isLater(orgId, leaseId))
      .map(({ orgId, leaseId, position, event }) => ({ seq, position, orgId, leaseId, event })),
    ...ends
      .filter(({ orgId }) => isLater(orgId, null))
      .map((end, position) => ({ seq, position, orgId: end.orgId, leaseId: null, end })),
  ]);
  return { now, later };
}

/** Final events first, so that a checkpoint of the same request is recognised as unneeded. */
export async function writeUsage(tx: Tx, usage: readonly ParsedUsage[]): Promise<UsageSummary> {
  const finals = usage.filter(({ event }) => event.kind === 'final');
  const recorded = finals.length === 0 ? emptySummary : await recordUsage(tx, finals, 'final');
  await upsertCheckpoints(
    tx,
    usage.filter(({ event }) => event.kind === 'checkpoint'),
  );
  return recorded;
}
