/**
 * Runs a batch as a whole, and if it fails in smaller parts, so that one bad item does not fail the others. n items run
 * together, then in about √n parts, then the failing parts item by item: a bad item costs about 2√n further attempts
 * and three timeouts. `fail` gets each item that fails alone. `together` must be one transaction, so that a failed part
 * has changed nothing.
 */
export async function runSplittingOnFailure<T>(
  items: readonly T[],
  work: {
    together(items: readonly T[]): Promise<void>;
    fail(item: T, error: unknown): Promise<void>;
  },
): Promise<void> {
  const [only] = items;
  if (only === undefined) return;
  try {
    await work.together(items);
  } catch (error) {
    if (items.length === 1) {
      await work.fail(only, error);
      return;
    }
    const size = splitSize(items.length);
    for (let first = 0; first < items.length; first += size) {
      await runSplittingOnFailure(items.slice(first, first + size), work);
    }
  }
}

const SPLIT_SINGLY_BELOW = 32;

function splitSize(length: number): number {
  return length <= SPLIT_SINGLY_BELOW ? 1 : Math.ceil(Math.sqrt(length));
}
