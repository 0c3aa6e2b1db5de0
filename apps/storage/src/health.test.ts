import { SimulatedClock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { expect, test } from 'vitest';
import { loadStorageConfig, isWithin } from './config.ts';
import { HealthTracker } from './health.ts';
import { KeyedQueue } from './keyed-queue.ts';

test('HealthTracker.due restores a volume without a server at once, probes a served one every 10 s, and backs off after failures', async () => {
  const clock = new SimulatedClock();
  const health = new HealthTracker(clock, createLogger({ name: 'test', level: 'silent' }));
  expect([health.due('a', true), health.of('a').isServed]).toEqual(['bring', false]);
  health.note('a', null);
  expect([health.due('a', true), health.due('a', false)]).toEqual(['nothing', 'bring']);
  await clock.advance(10_000);
  expect(health.due('a', true)).toBe('ask');
  const pauses: number[] = [];
  for (let failure = 0; failure < 9; failure += 1) {
    health.note('a', 'broken');
    let pauseMs = 0;
    for (; health.due('a', false) === 'nothing'; pauseMs += 1_000) await clock.advance(1_000);
    pauses.push(pauseMs);
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64].map((seconds) => seconds * 1_000));
  expect(health.of('a')).toMatchObject({ isServed: false, detail: 'broken' });
});

test('KeyedQueue runs work with one key in order, also after a failure, and does not delay other keys', async () => {
  const turns = new KeyedQueue({ clock: new SimulatedClock() });
  const seen: string[] = [];
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
  const first = turns.take('a', async () => {
    await gate;
    seen.push('first');
    throw new Error('failed');
  });
  const second = turns.take('a', async () => void seen.push('second'));
  await turns.take('b', async () => void seen.push('other'));
  expect(turns.isBusy('a')).toBe(true);
  openGate();
  await expect(first).rejects.toThrow('failed');
  await second;
  await turns.settle();
  expect([seen, turns.isBusy('a')]).toEqual([['other', 'first', 'second'], false]);
});

test('loadStorageConfig reports all invalid settings at once, and isWithin includes both ends of the range', () => {
  const range = { first: '10.8.0.250', last: '10.8.1.5' };
  expect(
    ['10.8.0.249', '10.8.0.250', '10.8.0.255', '10.8.1.5', '10.8.1.6'].map((address) =>
      isWithin(range, address),
    ),
  ).toEqual([false, true, true, true, false]);
  expect(() => loadStorageConfig({ MILLRACE_STORAGE_VIPS: '10.8.0.9-10.8.0.1' })).toThrow(
    /MILLRACE_STORAGE_POOL[^]*MILLRACE_STORAGE_VIPS[^]*FIRST-LAST[^]*MILLRACE_STORAGE_TLS_CERT_FILE/,
  );
});
