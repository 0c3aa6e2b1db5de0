import { randomBytes } from 'node:crypto';
import { usageSubjects, type UsageEvent } from '@millrace/core/inference';
import type { Clock } from '@millrace/platform/clock';
import { payloadSchemaVersion, type Envelope } from '@millrace/platform/envelope';
import type { Logger } from '@millrace/platform/log';
import type { NatsClient } from '@millrace/platform/nats';
import { counter, gauge } from '@millrace/platform/telemetry';

/**
 * Brings usage into the stream: many events in one message, because a publish costs by the message; each message again and
 * again under the same id until the stream has it. What waits is bounded by those who ask `isFull` before they admit a
 * request; an event of a request that was admitted is always taken.
 */
export interface UsageReporter {
  /** So much is waiting for the stream that no new request may be admitted. */
  isFull(): boolean;
  /** The one `final` event of a request. `stored` is called once, when the stream has it: then it may be settled. */
  report(event: UsageEvent, stored: () => void): void;
  /** How far a long request has come. Only the newest of a request is worth sending; it may be lost. */
  checkpoint(event: UsageEvent): void;
  /** Sends what is left and waits until it is stored, or for as long as was allowed. */
  close(): Promise<void>;
}

export interface UsageReporterOptions {
  readonly nats: Pick<NatsClient, 'publish'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  /** The prefix of this installation's subjects. */
  readonly prefix: string;
  readonly cell: number;
  /** At this many events that the stream has not acknowledged, `isFull`. */
  readonly maxUnacknowledged?: number;
  /** How long an event may wait for others to share its message. */
  readonly gatherMs?: number;
  /** How long `close` tries to have everything stored, besides the attempt that is under way then. */
  readonly closeMs?: number;
}

const defaultMaxUnacknowledged = 10_000;
const defaultLingerMs = 5;
const defaultCloseTimeoutMs = 10_000;
const eventsPerMessage = 50;
/** Messages under way at once. More would only queue up in the connection. */
const maxMessagesInFlight = 16;
const publishTimeoutMs = 5_000;
const firstRetryMs = 100;
const maxRetryMs = 1_000;

const events = counter('millrace_usage_events_total', 'Usage events by what became of them.');
const failures = counter('millrace_usage_publish_failures_total', 'Messages of usage to be published again.');
const waiting = gauge('millrace_usage_unacknowledged', 'Usage events that the stream has not stored yet.');

interface Queued {
  readonly event: UsageEvent;
  readonly stored: () => void;
}

export function createUsageReporter(options: UsageReporterOptions): UsageReporter {
  return new BatchingUsageReporter(options);
}

class BatchingUsageReporter implements UsageReporter {
  readonly #options: UsageReporterOptions;
  readonly #subject: string;
  readonly #envelope: Envelope;
  /** Never the same in another run: the stream takes a second message under one id for a repetition. */
  readonly #run = randomBytes(9).toString('base64url');
  readonly #givenUp = new AbortController();
  readonly #idle: (() => void)[] = [];
  readonly #queued: Queued[] = [];
  /** By request: a newer one takes the place of an older one, and the final event makes it needless. */
  readonly #checkpoints = new Map<string, UsageEvent>();
  #unacknowledged = 0;
  #messages = 0;
  #underWay = 0;
  #gathering: (() => void) | null = null;
  #isDue = false;
  #isFailing = false;

  constructor(options: UsageReporterOptions) {
    const { prefix, cell } = options;
    const actor = { kind: 'system', id: 'gateway' } as const;
    this.#options = options;
    this.#subject = usageSubjects(prefix, cell).batch;
    this.#envelope = { cell, mode: 'live', actor, schemaVersion: payloadSchemaVersion, traceparent: null };
  }

  isFull(): boolean {
    return this.#unacknowledged >= (this.#options.maxUnacknowledged ?? defaultMaxUnacknowledged);
  }

  report(event: UsageEvent, stored: () => void): void {
    this.#checkpoints.delete(event.requestId);
    this.#queued.push({ event, stored });
    this.#unacknowledged += 1;
    this.#gather();
  }

  checkpoint(event: UsageEvent): void {
    // While the stream is away the newest of each request waits, and nothing else.
    this.#checkpoints.set(event.requestId, event);
    this.#gather();
  }

  async close(): Promise<void> {
    const { clock, closeMs = defaultCloseTimeoutMs } = this.#options;
    this.#sendAll();
    if (this.#underWay === 0) return;
    const isIdle = new Promise<void>((resolve) => void this.#idle.push(resolve));
    const cancel = clock.after(closeMs, () => this.#givenUp.abort());
    await isIdle;
    cancel();
  }

  #gather(): void {
    const { clock, gatherMs = defaultLingerMs } = this.#options;
    if (this.#queued.length >= eventsPerMessage) this.#sendAll();
    else this.#gathering ??= clock.after(gatherMs, () => this.#sendAll());
  }

  get #hasMore(): boolean {
    return this.#queued.length > 0 || this.#checkpoints.size > 0;
  }

  /** As much as may be under way. The rest goes as soon as something of that has arrived. */
  #sendAll(): void {
    this.#gathering?.();
    this.#gathering = null;
    while (this.#hasMore && this.#underWay < maxMessagesInFlight) void this.#send();
    this.#isDue = this.#hasMore;
  }

  async #send(): Promise<void> {
    const finals = this.#queued.splice(0, eventsPerMessage);
    const taken = finals.map(({ event }) => event);
    for (const [requestId, event] of this.#checkpoints) {
      if (taken.length >= eventsPerMessage) break;
      taken.push(event);
      this.#checkpoints.delete(requestId);
    }
    this.#messages += 1;
    this.#underWay += 1;
    try {
      await this.#store({ events: taken }, `usage:${this.#run}:${this.#messages}`);
      for (const { stored } of finals) this.#settle(stored);
      events.add(finals.length, { outcome: 'stored' });
    } catch {
      events.add(finals.length, { outcome: 'given up' });
      const requestIds = finals.map(({ event }) => event.requestId);
      this.#options.log.error({ requestIds }, 'usage was given up: these requests are not charged');
    } finally {
      this.#underWay -= 1;
      this.#unacknowledged -= finals.length;
      waiting.record(this.#unacknowledged);
      if (this.#isDue || this.#queued.length >= eventsPerMessage) this.#sendAll();
      if (this.#underWay === 0 && this.#queued.length === 0) for (const wake of this.#idle) wake();
    }
  }

  /** Resolves when the stream has it; rejects only when everything is given up. */
  async #store(payload: unknown, messageId: string): Promise<void> {
    const { nats, clock, log } = this.#options;
    for (let retryMs = firstRetryMs; ; retryMs = Math.min(2 * retryMs, maxRetryMs)) {
      this.#givenUp.signal.throwIfAborted();
      try {
        const publishOptions = { messageId, envelope: this.#envelope, timeoutMs: publishTimeoutMs };
        await nats.publish(this.#subject, payload, publishOptions);
        this.#isFailing = false;
        return;
      } catch (error) {
        failures.add(1);
        const details = { err: error, unacknowledged: this.#unacknowledged };
        // Once for an outage, not for each message and try of it.
        if (!this.#isFailing) log.warn(details, 'usage will be published again and again');
        this.#isFailing = true;
      }
      await clock.sleep(retryMs, this.#givenUp.signal);
    }
  }

  #settle(stored: () => void): void {
    try {
      stored();
    } catch (error) {
      this.#options.log.error({ err: error }, 'what was to follow a stored usage event failed');
    }
  }
}
