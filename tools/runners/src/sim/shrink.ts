/** Finds a smaller list that still fails by dropping ever smaller ranges. `list` must fail, and so does the result. */
export async function shrinkList<T>(
  list: readonly T[],
  stillFails: (candidate: readonly T[]) => Promise<boolean>,
  maxAttempts: number,
): Promise<readonly T[]> {
  let current = list;
  let attempts = 0;
  for (let size = Math.ceil(current.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < current.length;) {
      if (attempts >= maxAttempts) return current;
      attempts += 1;
      const candidate = [...current.slice(0, start), ...current.slice(start + size)];
      // The next entries moved into the gap, so the same position is tried again.
      if (candidate.length > 0 && (await stillFails(candidate))) current = candidate;
      else start += size;
    }
  }
  return current;
}
