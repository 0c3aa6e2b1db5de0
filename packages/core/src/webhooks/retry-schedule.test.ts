import { expect, test } from 'vitest';
import { nextAttemptAt, reasonToDisable } from './retry-schedule.ts';

const now = new Date('2026-01-10T00:00:00.000Z');
const before = (ms: number): Date => new Date(now.getTime() - ms);
const DAY_MS = 86_400_000;

test('nextAttemptAt waits 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 14 h, and then returns null', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((failures) => {
    const next = nextAttemptAt(failures, now, () => 0);
    return next === null ? null : next.getTime() - now.getTime();
  });
  expect(waits).toEqual([5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, null]);
});

test('nextAttemptAt spreads the waits of simultaneous failures by up to a fifth', () => {
  const waitMs = (random: number) => (nextAttemptAt(2, now, () => random)?.getTime() ?? 0) - now.getTime();
  expect([waitMs(0), waitMs(0.5), waitMs(0.999_999)]).toEqual([300_000, 330_000, 359_999]);
});

test('reasonToDisable disables a webhook after exactly five days without a success', () => {
  const failure = { httpStatus: 500, error: 'The receiver returned 500.' };
  expect(reasonToDisable(failure, before(5 * DAY_MS - 1), now)).toBeNull();
  expect(reasonToDisable(failure, before(5 * DAY_MS), now)).toContain('The receiver returned 500.');
});

test('reasonToDisable disables a webhook at once after status 410', () => {
  const failure = { httpStatus: 410, error: 'The receiver returned 410.' };
  expect(reasonToDisable(failure, now, now)).toContain('410 Gone');
});
