import { expect, test } from 'vitest';
import { breakAtGaps, lonePoints, sampleInterval } from './gaps.ts';

test('a pause without samples becomes an empty sample in every series', () => {
  const broken = breakAtGaps({
    seconds: [0, 30, 60, 600, 630],
    series: [
      { label: 'GPU 0', values: [1, 2, 3, 4, 5] },
      { label: 'GPU 1', values: [1, null, 3, 4, 5] },
    ],
  });
  expect(broken.seconds).toEqual([0, 30, 60, 90, 600, 630]);
  expect(broken.series.map(({ values }) => values)).toEqual([
    [1, 2, 3, null, 4, 5],
    [1, null, 3, null, 4, 5],
  ]);
});

test('samples that come a little late are no gap', () => {
  const samples = { seconds: [0, 30, 61, 120, 150], series: [{ label: 'GPU 0', values: [1, 2, 3, 4, 5] }] };
  expect(breakAtGaps(samples)).toEqual(samples);
});

test('the usual interval is not changed by one long pause', () => {
  expect(sampleInterval([0, 30, 60, 90_000, 90_030])).toBe(30);
  expect(sampleInterval([7])).toBe(0);
});

test('a value between two gaps is a lone point', () => {
  expect(lonePoints([1, null, 2, null, 3, 4, null])).toEqual([0, 2]);
});
