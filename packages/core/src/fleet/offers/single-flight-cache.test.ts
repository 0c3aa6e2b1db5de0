import { testClock } from '@millrace/testing';
import { expect, test } from 'vitest';
import { SingleFlightCache } from './single-flight-cache.ts';

/** A question whose answers are given by hand. */
function askable() {
  const asked: { answer: (value: number) => void; fail: (error: Error) => void }[] = [];
  const load = () =>
    new Promise<number>((resolve, reject) => void asked.push({ answer: resolve, fail: reject }));
  return { asked, load };
}

test('a crowd at one moment asks once', async () => {
  const { asked, load } = askable();
  const recent = new SingleFlightCache(testClock(), load);
  const crowd = Array.from({ length: 100 }, () => recent.get(1_000));
  asked[0]?.answer(7);
  expect(new Set(await Promise.all(crowd))).toEqual(new Set([7]));
  expect(asked).toHaveLength(1);
});

test('nobody gets an answer that was begun longer ago than they allow', async () => {
  const clock = testClock();
  const { asked, load } = askable();
  const recent = new SingleFlightCache(clock, load);
  const first = recent.get(1_000);
  await clock.advance(600);
  asked[0]?.answer(1);
  expect(await first).toBe(1);
  await clock.advance(400);
  expect(await recent.get(1_000)).toBe(1);
  await clock.advance(1);
  const second = recent.get(1_000);
  asked[1]?.answer(2);
  expect(await second).toBe(2);
});

test('who finds a question under way that is too old waits for it and asks anew: never two at once', async () => {
  const clock = testClock();
  const { asked, load } = askable();
  const recent = new SingleFlightCache(clock, load);
  const patient = recent.get(1_000);
  await clock.advance(5_000);
  const late = [recent.get(1_000), recent.get(1_000)];
  expect(asked).toHaveLength(1);
  asked[0]?.answer(1);
  expect(await patient).toBe(1);
  await Promise.resolve();
  await Promise.resolve();
  expect(asked).toHaveLength(2);
  asked[1]?.answer(2);
  expect(await Promise.all(late)).toEqual([2, 2]);
  expect(asked).toHaveLength(2);
});

test('a failure is told to those who waited, and the next one asks again', async () => {
  const { asked, load } = askable();
  const recent = new SingleFlightCache(testClock(), load);
  const crowd = [recent.get(1_000), recent.get(1_000)];
  asked[0]?.fail(new Error('away'));
  for (const each of crowd) await expect(each).rejects.toThrow('away');
  const next = recent.get(1_000);
  asked[1]?.answer(3);
  expect(await next).toBe(3);
});
