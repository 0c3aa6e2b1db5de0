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

/** What stands in a message of the usage stream. Pure: what cannot be read is said, never thrown. */

/** An event whose every part fits the columns it goes to. */
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
  /** What is charged: what was reported, and never above what was reserved. */
  readonly amount: bigint;
  readonly priced: bigint;
}

/** Usage with its place in a message of the stream. */
export interface PositionedUsage extends ParsedUsage {
  /** Which event of the message. */
  readonly position: number;
}

export interface UnreadableEvent {
  /** Which event of the message. */
  readonly position: number;
  readonly problem: string;
  readonly payload: string;
}

export interface ParsedMessage {
  readonly usage: readonly PositionedUsage[];
  readonly ends: readonly EpochEnd[];
  readonly unreadable: readonly UnreadableEvent[];
}

/** A dollar amount that a JSON number can hold, which is also what a pot can count. */
const maxAmount = BigInt(Number.MAX_SAFE_INTEGER);
const maxTimeMs = Date.UTC(2200, 0, 1);
const maxProblemLength = 1_000;

export class UnreadableUsageError extends Error {
  override readonly name = 'NotReadable';
}

function parseIdOf<K extends IdKind>(kind: K, text: string): IdOf<K> {
  const id = parseId(kind, text);
  if (id === null) throw new UnreadableUsageError(`not an id of the kind ${kind}: ${text.slice(0, 100)}`);
  return id;
}

function parseAmount(text: string): bigint {
  const amount = BigInt(text);
  if (amount > maxAmount) throw new UnreadableUsageError(`more than a request can cost: ${text}`);
  return amount;
}

function requireTime(ms: number): void {
  if (ms < 0 || ms > maxTimeMs) throw new UnreadableUsageError(`not a time: ${ms}`);
}

/** PostgreSQL keeps neither NUL nor half a surrogate pair, and words of engines may hold either. */
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
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(event.gatewayId))
    throw new UnreadableUsageError('not the id of a gateway');
  if (event.model === '' || event.model.length > 200)
    throw new UnreadableUsageError('not the name of a model');
  if ((event.leaseId === null) !== (event.mode === 'test')) {
    throw new UnreadableUsageError('live usage has a lease, and test usage none');
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
  if (!Array.isArray(events)) throw new UnreadableUsageError('a batch without events');
  return events as unknown[];
}

/** One event that is wrong does not take the others of its message with it. */
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

/** By the last word of its subject: a batch of usage, or the end of a gateway's epochs. */
export function parseMessage(message: { readonly subject: string; text(): string }): ParsedMessage {
  const text = message.text();
  try {
    if (message.subject.endsWith('.batch')) return parseBatch(text);
    if (!message.subject.endsWith('.end'))
      throw new UnreadableUsageError(`nothing is known of ${message.subject}`);
    return { usage: [], ends: [epochEndSchema.parse(JSON.parse(text))], unreadable: [] };
  } catch (error) {
    return unreadableMessage(text, error);
  }
}

/** One request of a message put aside. */
export function rejectedUsage({ event, position }: PositionedUsage, error: unknown): UnreadableEvent {
  return { position, problem: problemOf(error), payload: storable(JSON.stringify(event)) };
}

/** All of a message put aside. */
export function unreadableMessage(text: string, error: unknown): ParsedMessage {
  return {
    usage: [],
    ends: [],
    unreadable: [{ position: 0, problem: problemOf(error), payload: storable(text) }],
  };
}
