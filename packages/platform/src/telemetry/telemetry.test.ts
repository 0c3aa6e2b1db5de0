import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { afterEach, expect, test } from 'vitest';
import {
  activeTraceparent,
  contextFromTraceparent,
  continueTrace,
  counter,
  gauge,
  histogram,
  inChildSpan,
  inSpan,
  runWithTraceparent,
  startTelemetry,
  startTrace,
} from './index.ts';
import type { Telemetry, TelemetryOptions } from './index.ts';

// Declared before telemetry starts, as modules do.
const early = counter('millrace_mails_total');

let running: Telemetry | undefined;
afterEach(async () => {
  await running?.shutdown();
  running = undefined;
});

async function start(options: Partial<TelemetryOptions> = {}): Promise<InMemorySpanExporter> {
  const exporter = new InMemorySpanExporter();
  running = await startTelemetry({
    service: 'test',
    version: '1.2.3',
    cell: 7,
    prometheusPort: 0,
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    ...options,
  });
  return exporter;
}

async function scrape(): Promise<string> {
  return (await fetch(`http://127.0.0.1:${running?.prometheusPort}/metrics`)).text();
}

test('runWithTraceparent continues the trace of the span that wrote the traceparent', async () => {
  const exporter = await start();
  let carried: string | undefined;
  await inSpan('write', {}, async () => {
    carried = activeTraceparent();
  });
  await runWithTraceparent(carried, () => inSpan('read', {}, async () => {}));
  const [write, read] = exporter.getFinishedSpans();
  expect(carried).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(carried).toHaveLength(55);
  expect(read?.spanContext().traceId).toBe(write?.spanContext().traceId);
  expect(read?.parentSpanContext?.spanId).toBe(write?.spanContext().spanId);
});

test.each([undefined, null, '', 'rubbish', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`, '00-xyz-1-01'])(
  'contextFromTraceparent starts a new trace for the invalid value %j',
  async (value) => {
    await start();
    await inSpan('outer', {}, async () => {
      expect(activeTraceparent(contextFromTraceparent(value))).toBeUndefined();
    });
  },
);

test('activeTraceparent returns undefined outside any span', async () => {
  expect(activeTraceparent()).toBeUndefined();
  await start();
  expect(activeTraceparent()).toBeUndefined();
});

test('inSpan marks and ends a failing span and rethrows the error', async () => {
  const exporter = await start();
  await expect(inSpan('fail', {}, () => Promise.reject(new TypeError('no')))).rejects.toThrow('no');
  const [span] = exporter.getFinishedSpans();
  expect(span).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'TypeError' } });
});

test('startTelemetry serves metrics on loopback, including those declared before the start', async () => {
  await start();
  early.add(2, { outcome: 'sent' });
  gauge('millrace_outbox_waiting').record(5);
  histogram('millrace_webhook_attempt_seconds').record(0.5);
  const text = await scrape();
  expect(text).toContain('millrace_mails_total{outcome="sent"} 2');
  expect(text).toContain('millrace_outbox_waiting 5');
  expect(text).toMatch(/millrace_webhook_attempt_seconds_bucket\{le="1"\} 1/);
  const other = await fetch(`http://127.0.0.1:${running?.prometheusPort}/`);
  expect(other.status).toBe(404);
});

test('startTelemetry serves metrics only to requests with the token if there is one', async () => {
  const token = 'a-token-of-the-operator';
  await start({ token });
  const url = `http://127.0.0.1:${running?.prometheusPort}/metrics`;
  const statusWith = async (headers: Record<string, string>) => (await fetch(url, { headers })).status;
  expect(await statusWith({})).toBe(401);
  expect(await statusWith({ authorization: `Bearer ${token}x` })).toBe(401);
  expect(await statusWith({ authorization: `Bearer ${token}` })).toBe(200);
});

test('startTelemetry records only the given share of traces', async () => {
  const exporter = await start({ samplePercent: 0 });
  await inSpan('unseen', {}, async () => {});
  expect(exporter.getFinishedSpans()).toEqual([]);
});

test('startTelemetry records no trace of a process without a collector', async () => {
  await start({ spanProcessors: [] });
  expect(startTrace('request', {})).toBeNull();
  await inSpan('outer', {}, async () => {
    expect(activeTraceparent()).toMatch(/-00$/);
  });
});

const caller = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

test('startTrace links the trace of its caller and does not join it', async () => {
  const exporter = await start();
  const root = startTrace('request', { kind: 'server', linked: caller });
  root?.child('part').end('timeout');
  root?.end();
  const [part, request] = exporter.getFinishedSpans();
  expect(request?.parentSpanContext).toBeUndefined();
  expect(request?.spanContext().traceId).not.toBe('a'.repeat(32));
  expect(request?.links.map(({ context }) => context.traceId)).toEqual(['a'.repeat(32)]);
  expect(part?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
  expect(part?.attributes).toEqual({ 'error.type': 'timeout' });
});

test('continueTrace follows the decision of the sender', async () => {
  const exporter = await start();
  expect(continueTrace(null, 'charge', {})).toBeNull();
  expect(continueTrace('rubbish', 'charge', {})).toBeNull();
  expect(continueTrace(caller.replace(/01$/, '00'), 'charge', {})).toBeNull();
  continueTrace(caller, 'charge', {})?.end();
  expect(exporter.getFinishedSpans().map((span) => span.spanContext().traceId)).toEqual(['a'.repeat(32)]);
});

test('inChildSpan starts no trace of its own', async () => {
  const exporter = await start();
  await inChildSpan('poll', {}, async (span) => expect(span).toBeNull());
  await inSpan('outer', {}, () => inChildSpan('inner', {}, async (span) => expect(span).not.toBeNull()));
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['inner', 'outer']);
});

test('startTelemetry can start again after a shutdown', async () => {
  await start();
  await running?.shutdown();
  await start();
  early.add(1, { outcome: 'sent' });
  expect(await scrape()).toContain('millrace_mails_total{outcome="sent"} 1');
});
