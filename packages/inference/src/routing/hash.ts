// Small 32-bit hashes for placing requests. Every gateway must compute the same, so nothing here is seeded by chance. They keep
// nobody out: a tenant who makes its prompts collide gets one deployment up to its share of the load, and others after it.

const FNV_PRIME = 0x01_00_01_93;
const FNV_OFFSET = 0x81_1c_9d_c5;

/** Every bit of the answer depends on every bit of the argument (the finaliser of MurmurHash3). */
export function mix32(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Of at most `limit` characters, going on from another hash if one is given. */
export function hashText(text: string, limit: number = text.length, from: number = FNV_OFFSET): number {
  const length = Math.min(text.length, limit);
  // Kept to 32 bits with a sign all the way, and two characters a step: it is most of what choosing a place costs.
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
