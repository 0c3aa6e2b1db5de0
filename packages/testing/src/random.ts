import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Random choices that depend on the seed and on nothing else, so that a run can be had again. */
export interface Random {
  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number;
  /** From 0 up to, but without, 1: what `Math.random` gives, and fit to be passed in its place. */
  readonly fraction: () => number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** The same items in an order of its own, each order as likely as any other. */
  shuffle<T>(items: readonly T[]): T[];
  /** One of the entries, each as likely as its weight. */
  weighted<T>(entries: readonly (readonly [weight: number, item: T])[]): T;
  /**
   * A stream of its own for the n-th thing. Dropping or reordering other things then leaves this one's
   * choices as they were, which is what makes a failing run shrinkable.
   */
  fork(n: number): Random;
}

// Neighbouring seeds start in similar states; after this many steps nothing of that is left.
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
      if (items.length === 0) throw new Error('There is nothing to pick from.');
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
      throw new Error('There is nothing to choose from: give at least one entry a weight above zero.');
    },
    fork: (n) => createRandom((Math.imul(n + 1, streamSpread) ^ seed) | 0),
  };
}

/** A seed for a run that was given none: it is printed, so that the run can still be had again. */
export function freshSeed(random: () => number = Math.random): number {
  return Math.floor(random() * 0x7fff_ffff);
}
