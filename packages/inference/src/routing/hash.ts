// 32-bit hashes for routing. Every gateway must compute the same, so they are not seeded. Collisions are harmless: a tenant who
// makes prompts collide reaches one deployment up to its share, then others.

const FNV_PRIME = 0x01_00_01_93;
const FNV_OFFSET = 0x81_1c_9d_c5;

/** Finaliser of MurmurHash3: every output bit depends on every input bit. */
export function mix32(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Hashes at most `limit` characters, continuing from the hash `from` if given. */
export function hashText(text: string, limit: number = text.length, from: number = FNV_OFFSET): number {
  const length = Math.min(text.length, limit);
  // Signed 32-bit steps of two characters, because this is most of the cost of routing.
  let hash = from | 0;
  let index = 0;
  for (; index + 1 < length; index += 2) {
    const pair = text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16);
    hash = Math.imul(hash ^ pair, FNV_PRIME);
    hash ^= hash >>> 15;
  }
  if (index < length) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  return mix32(hash ^ length);
}
