import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Random choices that depend only on the seed, so that a run can be repeated. */
export interface Random {
  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number;
  /** From 0 (inclusive) to 1, as a replacement of `Math.random`. */
  readonly fraction: () => number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** The items in a random order; all orders are equally likely. */
  shuffle<T>(items: readonly T[]): T[];
  /** One of the entries, with a probability proportional to its weight. */
  weighted<T>(entries: readonly (readonly [weight: number, item: T])[]): T;
  /** A separate stream for the n-th item, independent of other items, so that a failing run can be shrunk. */
  fork(n: number): Random;
}

// Neighbouring seeds have similar states at first; this many steps remove the similarity.
const warmUpSteps = 16;
// The golden ratio in 32 bits spreads the stream numbers over the whole range of seeds.
const streamSpread = 0x9e3779b1;

export function createRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  for (let step = 0; step < warmUpSteps; step += 1) generator.next();

  const fraction = (): number => uniformFloat64(generator);
  return {
    int: (from, to) => uniformInt(generator, from, to),
    fraction,
    chance: (probability) => fraction() < probability,
    pick(items) {
      if (items.length === 0) throw new Error('The list is empty: pick needs at least one item.');
      return items[uniformInt(generator, 0, items.length - 1)] as (typeof items)[number];
    },
    shuffle(items) {
      const left = [...items];
      return items.flatMap(() => left.splice(uniformInt(generator, 0, left.length - 1), 1));
    },
    weighted(entries) {
      const total = entries.reduce((sum, [weight]) => sum + weight, 0);
      let left = fraction() * total;
      for (const [weight, item] of entries) {
        left -= weight;
        if (left < 0) return item;
      }
      throw new Error('No entry can be chosen: give at least one entry a weight above zero.');
    },
    fork: (n) => createRandom((Math.imul(n + 1, streamSpread) ^ seed) | 0),
  };
}

/** A seed for a run without one. It is printed, so that the run can be repeated. */
export function freshSeed(random: () => number = Math.random): number {
  return Math.floor(random() * 0x7fff_ffff);
}
