import { randomBytes } from 'node:crypto';
import { usageSubjects, type UsageEvent } from '@millrace/core/inference';
import type { Clock } from '@millrace/platform/clock';
import { payloadSchemaVersion, type Envelope } from '@millrace/platform/envelope';
import type { Logger } from '@millrace/platform/log';
import type { NatsClient } from '@millrace/platform/nats';
import { counter, gauge } from '@millrace/platform/telemetry';

/**
 * Publishes usage events in batches and retries each message under the same id until the stream has stored it. Callers check
 * `isFull` before they admit a request; events of admitted requests are always accepted.
 */
export interface UsageReporter {
  /** Too many events wait for the stream: admit no new request. */
  isFull(): boolean;
  /**
   * The one `final` event of a request. `stored` is called once, after which the reservation may be settled. `traceparent` is set for a
   * sampled request.
   */
  report(event: UsageEvent, stored: () => void, traceparent?: string): void;
  /** Progress of a long request. Only the newest checkpoint per request is kept, and it may be lost. */
  checkpoint(event: UsageEvent): void;
  /** Sends the remaining events and waits until they are stored or `closeMs` has passed. */
  close(): Promise<void>;
}

export interface UsageReporterOptions {
  readonly nats: Pick<NatsClient, 'publish'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly prefix: string;
  readonly cell: number;
  /** `isFull` is true from this number of unacknowledged events. */
  readonly maxUnacknowledged?: number;
  /** Maximum time that an event waits for others to share its message. */
  readonly gatherMs?: number;
  /** How long `close` retries, besides the attempt in flight. */
  readonly closeMs?: number;
}

const defaultMaxUnacknowledged = 10_000;
const defaultLingerMs = 5;
const defaultCloseTimeoutMs = 10_000;
const eventsPerMessage = 50;
/** More would only queue in the connection. */
const maxMessagesInFlight = 16;
const publishTimeoutMs = 5_000;
const firstRetryMs = 100;
const maxRetryMs = 1_000;

const events = counter('millrace_usage_events_total');
const failures = counter('millrace_usage_publish_failures_total');
const waiting = gauge('millrace_usage_unacknowledged');

interface Queued {
  readonly event: UsageEvent;
  readonly stored: () => void;
  readonly traceparent: string | undefined;
}

export function createUsageReporter(options: UsageReporterOptions): UsageReporter {
  return new BatchingUsageReporter(options);
}

class BatchingUsageReporter implements UsageReporter {
  readonly #options: UsageReporterOptions;
  readonly #subject: string;
  readonly #envelope: Envelope;
  /** Unique per run, because the stream discards a second message with the same id. */
  readonly #run = randomBytes(9).toString('base64url');
  readonly #givenUp = new AbortController();
  readonly #idle: (() => void)[] = [];
  readonly #queued: Queued[] = [];
  /** By request: a newer checkpoint replaces an older one, and the final event removes it. */
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

  report(event: UsageEvent, stored: () => void, traceparent?: string): void {
    this.#checkpoints.delete(event.requestId);
    this.#queued.push({ event, stored, traceparent });
    this.#unacknowledged += 1;
    this.#gather();
  }

  checkpoint(event: UsageEvent): void {
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

  /** Sends up to the in-flight limit; the rest follows as messages are acknowledged. */
  #sendAll(): void {
    this.#gathering?.();
    this.#gathering = null;
    while (this.#hasMore && this.#underWay < maxMessagesInFlight) void this.#send();
    this.#isDue = this.#hasMore;
  }

  /** A message has one header for a trace, so it contains at most one sampled request. */
  #nextMessageSize(): number {
    let sampled = 0;
    for (let size = 0; size < Math.min(this.#queued.length, eventsPerMessage); size += 1) {
      if (this.#queued[size]?.traceparent === undefined) continue;
      sampled += 1;
      if (sampled === 2) return size;
    }
    return eventsPerMessage;
  }

  async #send(): Promise<void> {
    const finals = this.#queued.splice(0, this.#nextMessageSize());
    const traceparent = finals.find((each) => each.traceparent !== undefined)?.traceparent ?? null;
    const taken = finals.map(({ event }) => event);
    for (const [requestId, event] of this.#checkpoints) {
      if (taken.length >= eventsPerMessage) break;
      taken.push(event);
      this.#checkpoints.delete(requestId);
    }
    this.#messages += 1;
    this.#underWay += 1;
    try {
      await this.#store({ events: taken }, `usage:${this.#run}:${this.#messages}`, traceparent);
      for (const { stored } of finals) this.#settle(stored);
      events.add(finals.length, { outcome: 'stored' });
    } catch {
      events.add(finals.length, { outcome: 'given up' });
      const requestIds = finals.map(({ event }) => event.requestId);
      this.#options.log.error({ requestIds }, 'usage events were discarded: these requests are not charged');
    } finally {
      this.#underWay -= 1;
      this.#unacknowledged -= finals.length;
      waiting.record(this.#unacknowledged);
      if (this.#isDue || this.#queued.length >= eventsPerMessage) this.#sendAll();
      if (this.#underWay === 0 && this.#queued.length === 0) for (const wake of this.#idle) wake();
    }
  }

  /** Resolves when the stream has stored the message; rejects only after `close` timed out. */
  async #store(payload: unknown, messageId: string, traceparent: string | null): Promise<void> {
    const { nats, clock, log } = this.#options;
    const envelope = traceparent === null ? this.#envelope : { ...this.#envelope, traceparent };
    for (let retryMs = firstRetryMs; ; retryMs = Math.min(2 * retryMs, maxRetryMs)) {
      this.#givenUp.signal.throwIfAborted();
      try {
        const publishOptions = { messageId, envelope, timeoutMs: publishTimeoutMs };
        await nats.publish(this.#subject, payload, publishOptions);
        this.#isFailing = false;
        return;
      } catch (error) {
        failures.add(1);
        // Nothing is stored during an outage, so the gauge would keep its value from before.
        waiting.record(this.#unacknowledged);
        const details = { err: error, unacknowledged: this.#unacknowledged };
        // Log once per outage, not per message and attempt.
        if (!this.#isFailing) log.warn(details, 'publishing usage failed; retrying until it succeeds');
        this.#isFailing = true;
      }
      await clock.sleep(retryMs, this.#givenUp.signal);
    }
  }

  #settle(stored: () => void): void {
    try {
      stored();
    } catch (error) {
      this.#options.log.error({ err: error }, 'the callback of a stored usage event failed');
    }
  }
}
