/**
 * The factor by which the work of a function grows for an input `factor` times as long: about `factor` if it is linear,
 * `factor` squared if it is quadratic. A ratio, so that it is the same on a slow machine; of this thread's CPU time, so
 * that other load does not count.
 */
export function workGrowth(
  work: (length: number) => () => unknown,
  { length, factor }: { readonly length: number; readonly factor: number },
): number {
  const [short, long] = [work(length), work(length * factor)];
  // Warm up, so that both measurements run compiled code.
  const warmUpUs = cpuUs();
  do short();
  while (cpuUs() - warmUpUs < MIN_ROUND_US);
  return fastestRunUs(long) / fastestRunUs(short);
}

const MIN_ROUND_US = 20_000;
const rounds = 3;

/** The CPU time of one run: the fastest of several rounds, each long enough to measure. */
function fastestRunUs(run: () => unknown): number {
  let quickest = Infinity;
  for (let round = 0; round < rounds; round += 1) {
    const startedUs = cpuUs();
    let usedUs = 0;
    let count = 0;
    while (usedUs < MIN_ROUND_US) {
      run();
      count += 1;
      usedUs = cpuUs() - startedUs;
    }
    quickest = Math.min(quickest, usedUs / count);
  }
  return quickest;
}

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
