import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Replaces the random sources of this process that name keys and place machines, so that two runs with one seed create the same
 * history. Connections keep their own randomness. Only for the generator, which creates no real secrets.
 */
export function seedRandomness(seed: string): void {
  const takeBytes = createByteSource(`${seed}/bytes`);
  const takeNumber = createByteSource(`${seed}/numbers`);
  const below = (bound: number): number => takeNumber(6).readUIntBE(0, 6) % bound;
  Object.assign(crypto, {
    randomBytes: (size: number, done?: (error: null, bytes: Buffer) => void) => {
      const bytes = takeBytes(size);
      if (done !== undefined) setImmediate(done, null, bytes);
      return bytes;
    },
    randomInt: (low: number, high?: number) => (high === undefined ? below(low) : low + below(high - low)),
  });
  syncBuiltinESMExports();
}

/** Bytes that depend only on the seed and on how many were taken before. */
export function createByteSource(seed: string): (size: number) => Buffer {
  let counter = 0;
  let waiting = Buffer.alloc(0);
  return (size) => {
    while (waiting.length < size) {
      const block = crypto
        .createHash('sha512')
        .update(`${seed}/${(counter += 1)}`)
        .digest();
      waiting = Buffer.concat([waiting, block]);
    }
    const taken = Buffer.from(waiting.subarray(0, size));
    waiting = waiting.subarray(size);
    return taken;
  };
}
