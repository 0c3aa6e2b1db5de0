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
  const { nats, clock, log, prefix, cell } = options;
  const { maxUnacknowledged = defaultMaxUnacknowledged, gatherMs = defaultLingerMs } = options;
  const { batch: subject } = usageSubjects(prefix, cell);
  // Never the same in another run: the stream takes a second message under one id for a repetition.
  const run = randomBytes(9).toString('base64url');
  const envelope: Envelope = {
    cell,
    mode: 'live',
    actor: { kind: 'system', id: 'gateway' },
    schemaVersion: payloadSchemaVersion,
    traceparent: null,
  };
  const givenUp = new AbortController();
  const idle = new Set<() => void>();
  const queued: Queued[] = [];
  // By request: a newer one takes the place of an older one, and the final event makes it needless.
  const checkpoints = new Map<string, UsageEvent>();
  let unacknowledged = 0;
  let messages = 0;
  let underWay = 0;
  let gathering: (() => void) | null = null;
  let isDue = false;
  let isFailing = false;

  function takeMessage(): { readonly finals: readonly Queued[]; readonly events: UsageEvent[] } {
    const finals = queued.splice(0, eventsPerMessage);
    const taken = finals.map(({ event }) => event);
    for (const [requestId, event] of checkpoints) {
      if (taken.length >= eventsPerMessage) break;
      taken.push(event);
      checkpoints.delete(requestId);
    }
    return { finals, events: taken };
  }

  /** Resolves when the stream has it; rejects only when everything is given up. */
  async function store(payload: unknown, messageId: string): Promise<void> {
    for (let retryMs = firstRetryMs; ; retryMs = Math.min(2 * retryMs, maxRetryMs)) {
      givenUp.signal.throwIfAborted();
      try {
        await nats.publish(subject, payload, { messageId, envelope, timeoutMs: publishTimeoutMs });
        isFailing = false;
        return;
      } catch (error) {
        failures.add(1);
        // Once for an outage, not for each message and try of it.
        if (!isFailing) log.warn({ err: error, unacknowledged }, 'usage will be published again and again');
        isFailing = true;
      }
      await clock.sleep(retryMs, givenUp.signal);
    }
  }

  async function send(): Promise<void> {
    const message = takeMessage();
    messages += 1;
    underWay += 1;
    try {
      await store({ events: message.events }, `usage:${run}:${messages}`);
      for (const { stored } of message.finals) settle(stored);
      events.add(message.finals.length, { outcome: 'stored' });
    } catch {
      events.add(message.finals.length, { outcome: 'given up' });
      const requestIds = message.finals.map(({ event }) => event.requestId);
      log.error({ requestIds }, 'usage was given up: these requests are not charged');
    } finally {
      underWay -= 1;
      unacknowledged -= message.finals.length;
      waiting.record(unacknowledged);
      if (isDue || queued.length >= eventsPerMessage) sendAll();
      if (underWay === 0 && queued.length === 0) for (const wake of idle) wake();
    }
  }

  function settle(stored: () => void): void {
    try {
      stored();
    } catch (error) {
      log.error({ err: error }, 'what was to follow a stored usage event failed');
    }
  }

  /** As much as may be under way. The rest goes as soon as something of that has arrived. */
  function sendAll(): void {
    gathering?.();
    gathering = null;
    while ((queued.length > 0 || checkpoints.size > 0) && underWay < maxMessagesInFlight) void send();
    isDue = queued.length > 0 || checkpoints.size > 0;
  }

  function gather(): void {
    if (queued.length >= eventsPerMessage) sendAll();
    else gathering ??= clock.after(gatherMs, sendAll);
  }

  return {
    isFull: () => unacknowledged >= maxUnacknowledged,
    report(event, stored) {
      checkpoints.delete(event.requestId);
      queued.push({ event, stored });
      unacknowledged += 1;
      gather();
    },
    checkpoint(event) {
      // While the stream is away the newest of each request waits, and nothing else.
      checkpoints.set(event.requestId, event);
      gather();
    },
    async close() {
      sendAll();
      if (underWay === 0) return;
      const isIdle = new Promise<void>((resolve) => idle.add(resolve));
      const cancel = clock.after(options.closeMs ?? defaultCloseTimeoutMs, () => givenUp.abort());
      await isIdle;
      cancel();
    },
  };
}
