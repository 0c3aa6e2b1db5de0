import { testClock } from '@millrace/testing';
import { expect, test } from 'vitest';
import { SingleFlightCache } from './single-flight-cache.ts';

/** A load function that the test resolves. */
function askable() {
  const loads: { resolve: (value: number) => void; fail: (error: Error) => void }[] = [];
  const load = () =>
    new Promise<number>((resolve, reject) => void loads.push({ resolve: resolve, fail: reject }));
  return { loads: loads, load };
}

test('concurrent callers share one load', async () => {
  const { loads, load } = askable();
  const recent = new SingleFlightCache(testClock(), load);
  const crowd = Array.from({ length: 100 }, () => recent.get(1_000));
  loads[0]?.resolve(7);
  expect(new Set(await Promise.all(crowd))).toEqual(new Set([7]));
  expect(loads).toHaveLength(1);
});

test('get never returns a value whose load started longer ago than the caller allows', async () => {
  const clock = testClock();
  const { loads, load } = askable();
  const recent = new SingleFlightCache(clock, load);
  const first = recent.get(1_000);
  await clock.advance(600);
  loads[0]?.resolve(1);
  expect(await first).toBe(1);
  await clock.advance(400);
  expect(await recent.get(1_000)).toBe(1);
  await clock.advance(1);
  const second = recent.get(1_000);
  loads[1]?.resolve(2);
  expect(await second).toBe(2);
});

test('a caller that finds a load in progress that is too old waits and loads again, never concurrently', async () => {
  const clock = testClock();
  const { loads, load } = askable();
  const recent = new SingleFlightCache(clock, load);
  const patient = recent.get(1_000);
  await clock.advance(5_000);
  const late = [recent.get(1_000), recent.get(1_000)];
  expect(loads).toHaveLength(1);
  loads[0]?.resolve(1);
  expect(await patient).toBe(1);
  await Promise.resolve();
  await Promise.resolve();
  expect(loads).toHaveLength(2);
  loads[1]?.resolve(2);
  expect(await Promise.all(late)).toEqual([2, 2]);
  expect(loads).toHaveLength(2);
});

test('a failed load rejects the waiting callers, and the next caller loads again', async () => {
  const { loads, load } = askable();
  const recent = new SingleFlightCache(testClock(), load);
  const crowd = [recent.get(1_000), recent.get(1_000)];
  loads[0]?.fail(new Error('away'));
  for (const each of crowd) await expect(each).rejects.toThrow('away');
  const next = recent.get(1_000);
  loads[1]?.resolve(3);
  expect(await next).toBe(3);
});
