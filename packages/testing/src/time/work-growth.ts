/**
 * How much more work a function does for an input `factor` times as long: about `factor` if the work is linear, `factor` squared
 * if it is quadratic. A ratio, so that it says the same on a slow machine; of this thread's processor time, so that other
 * load on the machine does not count.
 */
export function workGrowth(
  work: (length: number) => () => unknown,
  { length, factor }: { readonly length: number; readonly factor: number },
): number {
  const [short, long] = [work(length), work(length * factor)];
  // Compiled code on both sides: the first runs are slower whatever they do.
  const warmUpUs = cpuUs();
  do short();
  while (cpuUs() - warmUpUs < MIN_ROUND_US);
  return fastestRunUs(long) / fastestRunUs(short);
}

const MIN_ROUND_US = 20_000;
const rounds = 3;

/** Of the processor, for one run; the quickest of several rounds, each long enough to be measured. */
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
