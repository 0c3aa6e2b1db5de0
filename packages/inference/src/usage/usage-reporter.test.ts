import type { UsageEvent } from '@millrace/core/inference';
import { SimulatedClock } from '@millrace/platform/clock';
import type { Envelope } from '@millrace/platform/envelope';
import { createLogger } from '@millrace/platform/log';
import { startTelemetry } from '@millrace/platform/telemetry';
import { describe, expect, it } from 'vitest';
import { createUsageReporter, type UsageReporter } from './usage-reporter.ts';
import { usageEventOf } from './usage.fixture.ts';

const log = createLogger({ name: 'reporter', level: 'silent' });

/** In-memory stream that deduplicates by message id and can be unreachable or lose its acknowledgements. */
function createStream() {
  const stored = new Map<string, readonly UsageEvent[]>();
  const traceparents: (string | null)[] = [];
  let state: 'up' | 'away' | 'answers get lost' = 'up';
  return {
    set: (to: typeof state) => void (state = to),
    messages: () => [...stored.values()],
    events: () => [...stored.values()].flat(),
    traceparents,
    publish: async (
      _: string,
      payload: unknown,
      { messageId, envelope }: { messageId: string; envelope: Envelope },
    ) => {
      traceparents.push(envelope.traceparent);
      if (state === 'away') throw new Error('no answer');
      const duplicate = stored.has(messageId);
      if (!duplicate) stored.set(messageId, (payload as { events: UsageEvent[] }).events);
      if (state === 'answers get lost') throw new Error('no answer');
      return { stream: 'USAGE_1', sequence: stored.size, duplicate };
    },
  };
}

function setUp(options: { maxUnacknowledged?: number; closeMs?: number } = {}) {
  const stream = createStream();
  const clock = new SimulatedClock();
  const reporter: UsageReporter = createUsageReporter({
    nats: stream,
    clock,
    log,
    prefix: '',
    cell: 1,
    ...options,
  });
  const confirmed: string[] = [];
  const report = (count: number): UsageEvent[] =>
    Array.from({ length: count }, () => {
      const event = usageEventOf({});
      reporter.report(event, () => confirmed.push(event.requestId));
      return event;
    });
  return { stream, clock, reporter, confirmed: confirmed, report };
}

const ids = (events: readonly UsageEvent[]): string[] => events.map(({ requestId }) => requestId);

describe('usage reporter', () => {
  it('sends at most one sampled request in a message, with its traceparent in the header', async () => {
    const { stream, clock, reporter } = setUp();
    const traces = [undefined, 'trace-1', undefined, 'trace-2'];
    const events = traces.map((traceparent) => {
      const event = usageEventOf({});
      reporter.report(event, () => undefined, traceparent);
      return event;
    });
    await clock.advance(5);
    expect(stream.messages()).toEqual([events.slice(0, 3), events.slice(3)]);
    expect(stream.traceparents).toEqual(['trace-1', 'trace-2']);
    reporter.report(usageEventOf({}), () => undefined);
    await clock.advance(5);
    expect(stream.traceparents.at(-1)).toBeNull();
  });

  it('batches events of a few milliseconds into one message and calls back after each is stored', async () => {
    const { stream, clock, confirmed, report } = setUp();
    const reported = report(3);
    await clock.advance(4);
    expect([stream.messages().length, confirmed]).toEqual([0, []]);
    await clock.advance(1);
    expect(stream.messages()).toEqual([reported]);
    expect(confirmed).toEqual(ids(reported));
  });

  it('sends a full message at once', async () => {
    const { stream, clock, confirmed, report } = setUp();
    const reported = report(120);
    await clock.advance(0);
    expect(stream.messages().map(({ length }) => length)).toEqual([50, 50]);
    await clock.advance(5);
    expect(stream.messages().map(({ length }) => length)).toEqual([50, 50, 20]);
    expect(confirmed.toSorted()).toEqual(ids(reported).toSorted());
  });

  it('calls back only after the unreachable stream has returned, and stores every event once', async () => {
    const { stream, clock, confirmed, report } = setUp();
    stream.set('away');
    const reported = report(2_000);
    await clock.advance(60_000);
    expect(confirmed).toEqual([]);
    stream.set('up');
    await clock.advance(2_000);
    expect(ids(stream.events()).toSorted()).toEqual(ids(reported).toSorted());
    expect(confirmed.toSorted()).toEqual(ids(reported).toSorted());
  });

  it('reports unacknowledged events in its metrics while the stream is unreachable', async () => {
    const telemetry = await startTelemetry({ service: 'gateway', version: '0', cell: 1, prometheusPort: 0 });
    try {
      const { stream, clock, report } = setUp();
      stream.set('away');
      report(3);
      await clock.advance(10);
      const scraped = await fetch(`http://127.0.0.1:${telemetry.prometheusPort}/metrics`);
      expect(await scraped.text()).toMatch(/^millrace_usage_unacknowledged 3$/m);
    } finally {
      await telemetry.shutdown();
    }
  });

  it('retries a message with a lost acknowledgement under the same id', async () => {
    const { stream, clock, confirmed, report } = setUp();
    stream.set('answers get lost');
    const reported = report(10);
    await clock.advance(5_000);
    expect(confirmed).toEqual([]);
    stream.set('up');
    await clock.advance(2_000);
    expect(ids(stream.events())).toEqual(ids(reported));
    expect(confirmed).toEqual(ids(reported));
  });

  it('is full at its limit, still accepts events of admitted requests, and recovers when they are stored', async () => {
    const { stream, clock, reporter, confirmed, report } = setUp({ maxUnacknowledged: 100 });
    stream.set('away');
    report(99);
    expect(reporter.isFull()).toBe(false);
    report(1);
    expect(reporter.isFull()).toBe(true);
    report(5);
    await clock.advance(10_000);
    expect(reporter.isFull()).toBe(true);
    stream.set('up');
    await clock.advance(2_000);
    expect(reporter.isFull()).toBe(false);
    expect(confirmed.length).toBe(105);
  });

  it('sends only the newest checkpoint of a request and none after its final event', async () => {
    const { stream, clock, reporter } = setUp();
    const [running, ending] = [usageEventOf({ kind: 'checkpoint' }), usageEventOf({ kind: 'checkpoint' })];
    reporter.checkpoint(running);
    reporter.checkpoint({ ...running, tokensCompletion: 20 });
    reporter.checkpoint(ending);
    reporter.report({ ...ending, kind: 'final' }, () => undefined);
    await clock.advance(5);
    expect(stream.messages()).toEqual([
      [
        { ...ending, kind: 'final' },
        { ...running, tokensCompletion: 20 },
      ],
    ]);
  });

  it('keeps one checkpoint per request while the stream is unreachable', async () => {
    const { stream, clock, reporter } = setUp();
    stream.set('away');
    const running = usageEventOf({ kind: 'checkpoint' });
    for (let tokens = 1; tokens <= 1_000; tokens += 1) {
      reporter.checkpoint({ ...running, tokensCompletion: tokens });
      await clock.advance(10);
    }
    stream.set('up');
    await clock.advance(5_000);
    expect(stream.events().length).toBeLessThanOrEqual(20);
    expect(Math.max(...stream.events().map(({ tokensCompletion }) => tokensCompletion))).toBe(1_000);
    expect(reporter.isFull()).toBe(false);
  });

  it('continues when the callback of a stored event throws', async () => {
    const { stream, clock, reporter, confirmed, report } = setUp();
    reporter.report(usageEventOf({}), () => {
      throw new Error('not my day');
    });
    const [last] = report(1);
    await clock.advance(5);
    expect(stream.events().length).toBe(2);
    expect(confirmed).toEqual([last?.requestId]);
  });

  it('closes when all events are stored', async () => {
    const { stream, confirmed, reporter, report } = setUp();
    const reported = report(130);
    await reporter.close();
    expect(ids(stream.events()).toSorted()).toEqual(ids(reported).toSorted());
    expect(confirmed.length).toBe(130);
  });

  it('discards events at its time limit when closed while the stream is unreachable, without calling back', async () => {
    const { stream, clock, confirmed, reporter, report } = setUp({ closeMs: 10_000 });
    stream.set('away');
    report(2_000);
    let closed = false;
    void reporter.close().then(() => (closed = true));
    await clock.advance(9_999);
    expect(closed).toBe(false);
    await clock.advance(2_000);
    expect(closed).toBe(true);
    expect([confirmed, stream.events()]).toEqual([[], []]);
  });
});
