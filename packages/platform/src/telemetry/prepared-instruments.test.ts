import { afterEach, expect, test } from 'vitest';
import { onScrape, preparedHistogram, startTelemetry } from './index.ts';
import type { Telemetry } from './index.ts';

let running: Telemetry | undefined;
afterEach(async () => {
  await running?.shutdown();
  running = undefined;
});

async function scrape(): Promise<string> {
  running ??= await startTelemetry({
    service: 'gateway',
    version: '1.2.3',
    commit: 'abc',
    cell: 7,
    prometheusPort: 0,
  });
  return (await fetch(`http://127.0.0.1:${running.prometheusPort}/metrics`)).text();
}

test('a prepared histogram is exposed with cumulative buckets, whose upper bounds are inclusive', async () => {
  const histogram = preparedHistogram('millrace_gateway_queue_seconds');
  const recorder = histogram.with({ gen_ai_request_model: 'unit "test"', outcome: 'served' });
  expect(histogram.with({ gen_ai_request_model: 'unit "test"', outcome: 'served' })).toBe(recorder);
  for (const seconds of [0.01, 0.02, 2, 99]) recorder.record(seconds);
  const text = await scrape();
  const labels = String.raw`gen_ai_request_model="unit \"test\"",outcome="served"`;
  const value = (name: string, le?: string) =>
    text
      .split('\n')
      .find((line) =>
        line.startsWith(
          `millrace_gateway_queue_seconds${name}{${labels}${le === undefined ? '' : `,le="${le}"`}} `,
        ),
      )
      ?.split(' ')
      .at(-1);
  expect(['0.01', '0.05', '2.5', '10', '+Inf'].map((le) => value('_bucket', le))).toEqual([
    '1',
    '2',
    '3',
    '3',
    '4',
  ]);
  expect(value('_count')).toBe('4');
  expect(Number(value('_sum'))).toBeCloseTo(101.03);
  expect(text).toContain('# TYPE millrace_gateway_queue_seconds histogram');
});

test('a scrape exposes the build, the process and counters from 0', async () => {
  const text = await scrape();
  expect(text).toContain('millrace_build_info{version="1.2.3",commit="abc"} 1');
  // Test files share modules, and another one may have recorded 1.
  expect(text).toMatch(/^millrace_ready [01]$/m);
  expect(text).toContain('millrace_usage_events_total{outcome="given up"} 0');
  expect(text).toMatch(/^process_resident_memory_bytes [1-9]\d+$/m);
  expect(text).toMatch(/^process_start_time_seconds 1\d{9}/m);
  // Counters of other processes would look like processes that do nothing.
  expect(text).not.toContain('millrace_invoices_total');
});

test('a scrape waits for its collectors, and a failing collector hides no other metric', async () => {
  let calls = 0;
  const ends = [
    onScrape(() => Promise.reject(new Error('no'))),
    onScrape(async () => {
      await new Promise((done) => setImmediate(done));
      calls += 1;
    }),
  ];
  expect(await scrape()).toContain('millrace_build_info');
  expect(calls).toBe(1);
  for (const end of ends) end();
  await scrape();
  expect(calls).toBe(1);
});
