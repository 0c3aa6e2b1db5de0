/** The wait after so many failures in a row: it doubles with each, up to a limit. Multiply by a random share for jitter. */
export function backoffMs(firstMs: number, maxMs: number, failures: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(30, failures - 1));
}
