import { systemClock } from '@millrace/platform/clock';
import { expect, test } from 'vitest';
import { isNearStall, stalledMs, StallWatch } from './stalls.ts';

const stalls = [
  { fromMs: 100, toMs: 400 },
  { fromMs: 1_000, toMs: 3_000 },
];

test('StallWatch records the time in which the process is blocked', () => {
  using watch = new StallWatch();
  const fromMs = systemClock.monotonicMs();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  const toMs = systemClock.monotonicMs();
  expect(stalledMs(watch.stalls, fromMs, toMs)).toBeGreaterThan(250);
});

test('stalledMs counts only the part of a stall between two moments', () => {
  expect(stalledMs(stalls, 0, 50)).toBe(0);
  expect(stalledMs(stalls, 300, 2_000)).toBe(1_100);
  expect(stalledMs(stalls, 0, 5_000)).toBe(2_300);
  expect(stalledMs(stalls, 2_000, 300)).toBe(0);
});

test('isNearStall is true for a request that overlaps a stall or starts soon after it', () => {
  expect(isNearStall(stalls, { startedMs: 50, endedMs: 99 }, 500)).toBe(false);
  expect(isNearStall(stalls, { startedMs: 50, endedMs: 150 }, 0)).toBe(true);
  expect(isNearStall(stalls, { startedMs: 3_400, endedMs: 3_500 }, 500)).toBe(true);
  expect(isNearStall(stalls, { startedMs: 3_600, endedMs: 3_700 }, 500)).toBe(false);
});
