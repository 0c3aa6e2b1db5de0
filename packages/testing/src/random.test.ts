import { expect, test } from 'vitest';

import { createRandom, freshSeed } from './random.ts';

const draw = (seed: number): number[] => {
  const random = createRandom(seed);
  return Array.from({ length: 20 }, () => random.int(0, 1_000_000));
};

test('createRandom returns the same sequence for the same seed and another for another seed', () => {
  expect(draw(42)).toEqual(draw(42));
  expect(draw(42)).not.toEqual(draw(43));
});

test('fork depends only on the seed and its number, not on earlier draws', () => {
  const fresh = createRandom(7);
  const used = createRandom(7);
  for (let count = 0; count < 5; count += 1) used.fraction();
  expect(used.fork(3).int(0, 1_000_000)).toBe(fresh.fork(3).int(0, 1_000_000));
  expect(fresh.fork(4).int(0, 1_000_000)).not.toBe(fresh.fork(5).int(0, 1_000_000));
});

test('fork returns independent streams for neighbouring numbers', () => {
  const root = createRandom(1);
  const firsts = Array.from({ length: 2000 }, (_, n) => root.fork(n).fraction());
  const mean = firsts.reduce((sum, value) => sum + value, 0) / firsts.length;
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
  expect(new Set(firsts).size).toBe(firsts.length);
});

test('weighted chooses entries by weight and never those of weight zero', () => {
  const random = createRandom(5);
  const counts = { often: 0, seldom: 0, never: 0 };
  for (let count = 0; count < 10_000; count += 1) {
    counts[
      random.weighted<keyof typeof counts>([
        [9, 'often'],
        [1, 'seldom'],
        [0, 'never'],
      ])
    ] += 1;
  }
  expect(counts.never).toBe(0);
  expect(counts.often / counts.seldom).toBeGreaterThan(7);
  expect(counts.often / counts.seldom).toBeLessThan(12);
  expect(() => random.weighted([[0, 'never']])).toThrow('a weight above zero');
});

test('freshSeed returns a seed that --seed accepts', () => {
  expect(freshSeed(() => 0)).toBe(0);
  expect(freshSeed(() => 0.999_999_999)).toBeLessThan(0x7fff_ffff);
});

test('shuffle keeps every item and puts each in every position about equally often', () => {
  const random = createRandom(11);
  const firsts = { a: 0, b: 0, c: 0 };
  for (let count = 0; count < 3_000; count += 1) {
    const shuffled = random.shuffle(['a', 'b', 'c'] as const);
    expect(shuffled.toSorted()).toEqual(['a', 'b', 'c']);
    const [first] = shuffled;
    if (first !== undefined) firsts[first] += 1;
  }
  expect(Math.min(...Object.values(firsts))).toBeGreaterThan(850);
});
