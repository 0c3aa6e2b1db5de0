/**
 * The wait after `failures` consecutive failures: it doubles each time, up to `maxMs`. Multiply by a random factor for
 * jitter.
 */
export function backoffMs(firstMs: number, maxMs: number, failures: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(30, failures - 1));
}
