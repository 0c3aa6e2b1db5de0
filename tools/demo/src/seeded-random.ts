import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Replaces the random sources of this process, so that two runs with one seed create the same history. Each source file that takes
 * random numbers has a sequence of its own: connections and timers, whose order varies, do not change what others get. Only for the
 * generator, which creates no real secrets.
 */
export function seedRandomness(seed: string): void {
  const takers = new Map<string, (size: number) => Buffer>();
  const take = (kind: string, size: number): Buffer => {
    const name = `${seed}/${kind}/${callingFile()}`;
    const source = takers.get(name) ?? createByteSource(name);
    takers.set(name, source);
    return source(size);
  };
  const below = (bound: number): number => take('numbers', 6).readUIntBE(0, 6) % bound;
  const { generateKeyPairSync } = crypto;
  Object.assign(crypto, {
    randomBytes: (size: number, done?: (error: null, bytes: Buffer) => void) => {
      const bytes = take('bytes', size);
      if (done !== undefined) setImmediate(done, null, bytes);
      return bytes;
    },
    randomInt: (low: number, high?: number) => (high === undefined ? below(low) : low + below(high - low)),
    generateKeyPairSync: (type: string, options?: KeyEncodings) =>
      type === 'ed25519' && options !== undefined
        ? seededKeyPair(take('keys', 32), options)
        : generateKeyPairSync(type as 'ec', options as never),
  });
  syncBuiltinESMExports();
  Math.random = () => below(2 ** 32) / 2 ** 32;
}

/** The file that called one of the functions above. */
function callingFile(): string {
  const frames = (new Error('stack').stack ?? '').split('\n').slice(1);
  const outside = frames.find((frame) => !frame.includes('seeded-random')) ?? '';
  return outside.replace(/^.*?(?=node_modules|packages|apps|tools|node:)/, '').replace(/:\d+:\d+\)?$/, '');
}

interface KeyEncodings {
  readonly publicKeyEncoding: crypto.KeyExportOptions<'der'>;
  readonly privateKeyEncoding: crypto.KeyExportOptions<'der'>;
}

/** The fixed prefix of an Ed25519 private key in PKCS #8, before the 32 bytes of the key. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

export function seededPrivateKey(bytes: Buffer): crypto.KeyObject {
  const key = Buffer.concat([pkcs8Prefix, bytes]);
  return crypto.createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}

function seededKeyPair(bytes: Buffer, { publicKeyEncoding, privateKeyEncoding }: KeyEncodings) {
  const privateKey = seededPrivateKey(bytes);
  return {
    publicKey: crypto.createPublicKey(privateKey).export(publicKeyEncoding as never),
    privateKey: privateKey.export(privateKeyEncoding as never),
  };
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
