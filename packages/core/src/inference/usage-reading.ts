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
import { epochEndSchema, type EpochEnd } from '../pots/index.ts';
import { usageEvent, type UsageEvent } from './usage-event.ts';

/** What stands in a message of the usage stream. Pure: what cannot be read is said, never thrown. */

/** An event whose every part fits the columns it goes to. */
export interface ReadUsage {
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
export interface PlacedUsage extends ReadUsage {
  /** Which event of the message. */
  readonly position: number;
}

export interface Unreadable {
  /** Which event of the message. */
  readonly position: number;
  readonly problem: string;
  readonly payload: string;
}

export interface ReadMessage {
  readonly usage: readonly PlacedUsage[];
  readonly ends: readonly EpochEnd[];
  readonly unreadable: readonly Unreadable[];
}

/** A dollar amount that a JSON number can hold, which is also what a pot can count. */
const largestAmount = BigInt(Number.MAX_SAFE_INTEGER);
const latestMs = Date.UTC(2200, 0, 1);
const longestProblem = 1_000;

export class NotReadable extends Error {
  override readonly name = 'NotReadable';
}

function idOf<K extends IdKind>(kind: K, text: string): IdOf<K> {
  const id = parseId(kind, text);
  if (id === null) throw new NotReadable(`not an id of the kind ${kind}: ${text.slice(0, 100)}`);
  return id;
}

function amountOf(text: string): bigint {
  const amount = BigInt(text);
  if (amount > largestAmount) throw new NotReadable(`more than a request can cost: ${text}`);
  return amount;
}

function requireTime(ms: number): void {
  if (ms < 0 || ms > latestMs) throw new NotReadable(`not a time: ${ms}`);
}

/** PostgreSQL keeps neither NUL nor half a surrogate pair, and words of engines may hold either. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}

function withStorableTexts(event: UsageEvent): UsageEvent {
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

export function readUsage(value: unknown): ReadUsage {
  const event = withStorableTexts(usageEvent.parse(value));
  requireTime(event.createdAtMs);
  for (const { startedAtMs } of event.attempts) requireTime(startedAtMs);
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(event.gatewayId)) throw new NotReadable('not the id of a gateway');
  if (event.model === '' || event.model.length > 200) throw new NotReadable('not the name of a model');
  if ((event.leaseId === null) !== (event.mode === 'test')) {
    throw new NotReadable('live usage has a lease, and test usage none');
  }
  const reserved = amountOf(event.reservedNanoUsd);
  const amount = amountOf(event.amountNanoUsd);
  return {
    event,
    requestId: idOf('req', event.requestId),
    orgId: idOf('org', event.orgId),
    keyId: idOf('key', event.keyId),
    leaseId: event.leaseId === null ? null : idOf('lse', event.leaseId),
    budgets: event.budgetIds.map((id) => idOf('bdg', id)),
    priceIds: event.priceIds.map((id) => idOf('prc', id)),
    reserved,
    amount: amount > reserved ? reserved : amount,
    priced: amountOf(event.pricedNanoUsd),
  };
}

function problemOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return storable(text).slice(0, longestProblem) || 'unknown';
}

function eventsOf(value: unknown): readonly unknown[] {
  const { events } = value as { events?: unknown };
  if (!Array.isArray(events)) throw new NotReadable('a batch without events');
  return events as unknown[];
}

/** One event that is wrong does not take the others of its message with it. */
function readBatch(text: string): ReadMessage {
  const usage: PlacedUsage[] = [];
  const unreadable: Unreadable[] = [];
  for (const [position, value] of eventsOf(JSON.parse(text)).entries()) {
    try {
      usage.push({ ...readUsage(value), position });
    } catch (error) {
      unreadable.push({ position, problem: problemOf(error), payload: storable(JSON.stringify(value)) });
    }
  }
  return { usage, ends: [], unreadable };
}

/** By the last word of its subject: a batch of usage, or the end of a gateway's epochs. */
export function readMessage(message: { readonly subject: string; text(): string }): ReadMessage {
  const text = message.text();
  try {
    if (message.subject.endsWith('.batch')) return readBatch(text);
    if (!message.subject.endsWith('.end')) throw new NotReadable(`nothing is known of ${message.subject}`);
    return { usage: [], ends: [epochEndSchema.parse(JSON.parse(text))], unreadable: [] };
  } catch (error) {
    return unreadableMessage(text, error);
  }
}

/** One request of a message put aside. */
export function refusedUsage({ event, position }: PlacedUsage, error: unknown): Unreadable {
  return { position, problem: problemOf(error), payload: storable(JSON.stringify(event)) };
}

/** All of a message put aside. */
export function unreadableMessage(text: string, error: unknown): ReadMessage {
  return {
    usage: [],
    ends: [],
    unreadable: [{ position: 0, problem: problemOf(error), payload: storable(text) }],
  };
}
