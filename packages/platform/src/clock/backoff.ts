/** The wait after `failures` consecutive failures: doubles each time up to `maxMs`. Multiply for jitter. */
export function backoffMs(firstMs: number, maxMs: number, failures: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(30, failures - 1));
}
