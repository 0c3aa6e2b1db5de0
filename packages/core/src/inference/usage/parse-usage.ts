import { epochEndSchema, type EpochEnd } from '@millrace/credit-leases/protocol';
import {
  parseId,
  type BudgetId,
  type IdKind,
  type IdOf,
  type KeyId,
  type LeaseId,
  type OrgId,
  type PriceId,
  type RequestId,
} from '@millrace/platform/ids';
import { usageEvent, type UsageEvent } from './usage-event.ts';

/** Parses messages of the usage stream. Pure: an unreadable event is returned, never thrown. */

/** An event whose values all fit their columns. */
export interface ParsedUsage {
  readonly event: UsageEvent;
  readonly requestId: RequestId;
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  /** Null exactly in test mode. */
  readonly leaseId: LeaseId | null;
  readonly budgets: readonly BudgetId[];
  readonly priceIds: readonly PriceId[];
  readonly reserved: bigint;
  /** The charge: the reported amount, at most the reservation. */
  readonly amount: bigint;
  readonly priced: bigint;
}

export interface PositionedUsage extends ParsedUsage {
  /** The index of the event in its message. */
  readonly position: number;
}

export interface UnreadableEvent {
  /** The index of the event in its message. */
  readonly position: number;
  readonly problem: string;
  readonly payload: string;
}

export interface ParsedMessage {
  readonly usage: readonly PositionedUsage[];
  readonly ends: readonly EpochEnd[];
  readonly unreadable: readonly UnreadableEvent[];
}

/** The largest amount that a JSON number and a credit lease can hold. */
const maxAmount = BigInt(Number.MAX_SAFE_INTEGER);
const maxTimeMs = Date.UTC(2200, 0, 1);
const maxProblemLength = 1_000;

export class UnreadableUsageError extends Error {
  override readonly name = 'NotReadable';
}

function parseIdOf<K extends IdKind>(kind: K, text: string): IdOf<K> {
  const id = parseId(kind, text);
  if (id === null) throw new UnreadableUsageError(`expected an id of kind ${kind}: ${text.slice(0, 100)}`);
  return id;
}

function parseAmount(text: string): bigint {
  const amount = BigInt(text);
  if (amount > maxAmount) throw new UnreadableUsageError(`amount out of range: ${text}`);
  return amount;
}

function requireTime(ms: number): void {
  if (ms < 0 || ms > maxTimeMs) throw new UnreadableUsageError(`time out of range: ${ms}`);
}

/** PostgreSQL stores neither NUL nor half a surrogate pair, and texts of engines may contain either. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}

function withStorableStrings(event: UsageEvent): UsageEvent {
  const orNull = (text: string | null): string | null => (text === null ? null : storable(text));
  return {
    ...event,
    model: storable(event.model),
    deployment: orNull(event.deployment),
    finishReason: orNull(event.finishReason),
    attempts: event.attempts.map((attempt) => ({
      ...attempt,
      deployment: storable(attempt.deployment),
      error: orNull(attempt.error),
    })),
  };
}

export function parseUsage(value: unknown): ParsedUsage {
  const event = withStorableStrings(usageEvent.parse(value));
  requireTime(event.createdAtMs);
  for (const { startedAtMs } of event.attempts) requireTime(startedAtMs);
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(event.gatewayId)) throw new UnreadableUsageError('invalid gateway id');
  if (event.model === '' || event.model.length > 200) throw new UnreadableUsageError('invalid model name');
  if ((event.leaseId === null) !== (event.mode === 'test')) {
    throw new UnreadableUsageError('live usage must have a lease, and test usage must not');
  }
  const reserved = parseAmount(event.reservedNanoUsd);
  const amount = parseAmount(event.amountNanoUsd);
  return {
    event,
    requestId: parseIdOf('req', event.requestId),
    orgId: parseIdOf('org', event.orgId),
    keyId: parseIdOf('key', event.keyId),
    leaseId: event.leaseId === null ? null : parseIdOf('lse', event.leaseId),
    budgets: event.budgetIds.map((id) => parseIdOf('bdg', id)),
    priceIds: event.priceIds.map((id) => parseIdOf('prc', id)),
    reserved,
    amount: amount > reserved ? reserved : amount,
    priced: parseAmount(event.pricedNanoUsd),
  };
}

function problemOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return storable(text).slice(0, maxProblemLength) || 'unknown';
}

function eventsOf(value: unknown): readonly unknown[] {
  const { events } = value as { events?: unknown };
  if (!Array.isArray(events)) throw new UnreadableUsageError('the batch has no events');
  return events as unknown[];
}

/** An invalid event does not affect the others of its message. */
function parseBatch(text: string): ParsedMessage {
  const usage: PositionedUsage[] = [];
  const unreadable: UnreadableEvent[] = [];
  for (const [position, value] of eventsOf(JSON.parse(text)).entries()) {
    try {
      usage.push({ ...parseUsage(value), position });
    } catch (error) {
      unreadable.push({ position, problem: problemOf(error), payload: storable(JSON.stringify(value)) });
    }
  }
  return { usage, ends: [], unreadable };
}

/** The last token of the subject says whether it is a batch of usage or an end marker. */
export function parseMessage(message: { readonly subject: string; text(): string }): ParsedMessage {
  const text = message.text();
  try {
    if (message.subject.endsWith('.batch')) return parseBatch(text);
    if (!message.subject.endsWith('.end'))
      throw new UnreadableUsageError(`unknown subject ${message.subject}`);
    return { usage: [], ends: [epochEndSchema.parse(JSON.parse(text))], unreadable: [] };
  } catch (error) {
    return unreadableMessage(text, error);
  }
}

/** Quarantines one request of a message. */
export function rejectedUsage({ event, position }: PositionedUsage, error: unknown): UnreadableEvent {
  return { position, problem: problemOf(error), payload: storable(JSON.stringify(event)) };
}

/** Quarantines a whole message. */
export function unreadableMessage(text: string, error: unknown): ParsedMessage {
  return {
    usage: [],
    ends: [],
    unreadable: [{ position: 0, problem: problemOf(error), payload: storable(text) }],
  };
}
