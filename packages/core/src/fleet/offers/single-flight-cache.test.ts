import { testClock } from '@millrace/testing';
import { expect, test } from 'vitest';
import { SingleFlightCache } from './single-flight-cache.ts';

/** A question whose answers are given by hand. */
function askable() {
  const loads: { resolve: (value: number) => void; fail: (error: Error) => void }[] = [];
  const load = () =>
    new Promise<number>((resolve, reject) => void loads.push({ resolve: resolve, fail: reject }));
  return { loads: loads, load };
}

test('a crowd at one moment asks once', async () => {
  const { loads, load } = askable();
  const recent = new SingleFlightCache(testClock(), load);
  const crowd = Array.from({ length: 100 }, () => recent.get(1_000));
  loads[0]?.resolve(7);
  expect(new Set(await Promise.all(crowd))).toEqual(new Set([7]));
  expect(loads).toHaveLength(1);
});

test('nobody gets an answer that was begun longer ago than they allow', async () => {
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

test('who finds a question under way that is too old waits for it and asks anew: never two at once', async () => {
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

test('a failure is told to those who waited, and the next one asks again', async () => {
  const { loads, load } = askable();
  const recent = new SingleFlightCache(testClock(), load);
  const crowd = [recent.get(1_000), recent.get(1_000)];
  loads[0]?.fail(new Error('away'));
  for (const each of crowd) await expect(each).rejects.toThrow('away');
  const next = recent.get(1_000);
  loads[1]?.resolve(3);
  expect(await next).toBe(3);
});
