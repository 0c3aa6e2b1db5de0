/** A seeded source of randomness: the same seed gives the same run, so a failure can be replayed. */
export interface SeededRandom {
  readonly seed: number;
  /** A whole number in [0, bound). */
  below(bound: number): number;
  /** A whole number in [low, high], both ends included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  shuffle<T>(items: readonly T[]): T[];
  /** An independent stream: concurrent actors each take one, so that their interleaving cannot change their draws. */
  fork(label: number): SeededRandom;
}

const UINT32 = 0x1_0000_0000;

/** One step of a 32-bit mixing generator (xorshift-multiply); small, fast, and good enough to choose interleavings. */
function mix(state: number): number {
  let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return (z ^ (z >>> 15)) >>> 0;
}

export function seededRandom(seed: number): SeededRandom {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new Error(`A seed must be a whole number of at least 0, got ${seed}.`);
  }
  let state = mix((seed >>> 0) ^ 0x9e3779b9) >>> 0;
  const nextUint32 = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    return mix(state);
  };
  const below = (bound: number): number => {
    if (!Number.isSafeInteger(bound) || bound < 1 || bound > UINT32) {
      throw new Error(`below() needs a whole bound from 1 to 2^32, got ${bound}.`);
    }
    return nextUint32() % bound;
  };
  return {
    seed,
    below,
    between: (low, high) => low + below(high - low + 1),
    chance: (probability) => nextUint32() < probability * UINT32,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('pick() needs a list without holes.');
      return item;
    },
    shuffle: (items) => {
      const result = [...items];
      for (let last = result.length - 1; last > 0; last -= 1) {
        const other = below(last + 1);
        const [a, b] = [result[last], result[other]];
        if (a !== undefined && b !== undefined) {
          result[last] = b;
          result[other] = a;
        }
      }
      return result;
    },
    fork: (label) => seededRandom(mix((seed ^ Math.imul(label + 1, 0x85ebca6b)) >>> 0)),
  };
}
