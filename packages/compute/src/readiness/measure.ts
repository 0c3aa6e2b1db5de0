import type { Timer } from '@millrace/platform/clock';
import { perSecond, divideWithRemainder } from '@millrace/platform/money';
import { countGpus, withSshSession, type NotReady } from './ssh-readiness.ts';
import type { SshCommandResult, SshConnection, SshTarget } from './ssh-connection.ts';

const mebibyte = 1_048_576;

/** Measured over SSH in whole MiB or Mbit per second, so a lower bound of what the hardware can do. */
export interface MachineBenchmark {
  /** `count` is null if `nproc` fails; the rate is SHA-256 on one core. */
  readonly cpu: { readonly count: number | null; readonly mibPerSecond: number };
  /** Copying on one core. */
  readonly memory: { readonly mibPerSecond: number };
  /** Written and synced. */
  readonly disk: { readonly mibPerSecond: number };
  readonly network: { readonly downMbps: number; readonly upMbps: number };
  readonly gpu: {
    readonly count: number;
    readonly clockMhz: number | null;
    readonly details: readonly string[];
  };
}

export type BenchmarkResult = { readonly outcome: 'measured'; readonly figures: MachineBenchmark } | NotReady;

/** Enough work for about a second on a slow machine. */
const sampleSizes = { hashedMib: 64, copiedMib: 512, writtenMib: 64, sentBytes: 4 * mebibyte };
const bitsOfByte = 8;
const megabit = 1_000_000;
const { sentBytes } = sampleSizes;
const limits = { workMs: 120_000, outputBytes: 2 * sentBytes, receivedBytes: 4 * sentBytes };

const gpuQuery =
  'nvidia-smi --query-gpu=name,memory.total,power.limit,clocks.max.sm,pcie.link.gen.max --format=csv,noheader';
const gpuLine = /^[\x20-\x7e]{1,200}$/;
const maxGpus = 64;

/** Logs in and times commands with a known amount of work. Throws only for an invalid private key. */
export function benchmarkMachine(
  target: SshTarget,
  clock: Timer,
  signal: AbortSignal,
): Promise<BenchmarkResult> {
  return withSshSession<BenchmarkResult>(target, signal, (call) => runBenchmarks(call, clock), limits);
}

async function runBenchmarks(call: SshConnection, clock: Timer): Promise<BenchmarkResult> {
  const gpuCount = await countGpus(call);
  if (gpuCount === null) {
    return { outcome: 'not-yet', detail: 'The login works, but the GPUs cannot be counted yet.' };
  }
  const timed = async (
    line: string,
    input = '',
  ): Promise<{ elapsedMs: number; result: SshCommandResult }> => {
    const startedMs = clock.monotonicMs();
    const result = await call.run({ line, input });
    // A time of 0 ms would give an infinite rate.
    return { elapsedMs: Math.max(1, clock.monotonicMs() - startedMs), result };
  };
  const zeros = (mib: number): string => `dd if=/dev/zero bs=1048576 count=${mib} 2>/dev/null`;
  const file = '.millrace-measure';
  const steps = {
    cpu: await timed(`${zeros(sampleSizes.hashedMib)} | sha256sum`),
    memory: await timed(`${zeros(sampleSizes.copiedMib)} >/dev/null`),
    disk: await timed(
      `cd && dd if=/dev/zero of=${file} bs=1048576 count=${sampleSizes.writtenMib} conv=fsync 2>/dev/null; code=$?; rm -f ${file}; exit $code`,
    ),
    down: await timed('wc -c', 'x'.repeat(sampleSizes.sentBytes)),
    up: await timed(`head -c ${sampleSizes.sentBytes} /dev/zero`),
  };
  const failed = Object.entries(steps).find(([, { result }]) => result.exitCode !== 0);
  const isSent = steps.down.result.stdout.trim() === String(sampleSizes.sentBytes);
  const isGot = steps.up.result.stdout.length === sampleSizes.sentBytes;
  if (failed !== undefined || !isSent || !isGot) {
    const what = failed?.[0] ?? (isSent ? 'up' : 'down');
    return { outcome: 'not-yet', detail: `The benchmark step ${what} failed.` };
  }
  const rate = (mib: number, { elapsedMs }: { elapsedMs: number }): number =>
    Math.floor(perSecond(mib, elapsedMs));
  const mbps = ({ elapsedMs }: { elapsedMs: number }): number =>
    divideWithRemainder(Math.floor(perSecond(sampleSizes.sentBytes * bitsOfByte, elapsedMs)), megabit)[0];
  return {
    outcome: 'measured',
    figures: {
      cpu: {
        count: wholeNumber(await call.run({ line: 'nproc' })),
        mibPerSecond: rate(sampleSizes.hashedMib, steps.cpu),
      },
      memory: { mibPerSecond: rate(sampleSizes.copiedMib, steps.memory) },
      disk: { mibPerSecond: rate(sampleSizes.writtenMib, steps.disk) },
      network: { downMbps: mbps(steps.down), upMbps: mbps(steps.up) },
      gpu: { count: gpuCount, ...(await gpuDetails(call)) },
    },
  };
}

function wholeNumber({ exitCode, stdout }: SshCommandResult): number | null {
  return exitCode === 0 && /^\d{1,6}$/.test(stdout.trim()) ? Number(stdout.trim()) : null;
}

/** Uses the clock of the slowest GPU. */
async function gpuDetails({ run }: SshConnection): Promise<Omit<MachineBenchmark['gpu'], 'count'>> {
  const { exitCode, stdout } = await run({ line: gpuQuery });
  const details = (exitCode === 0 ? stdout.split('\n') : [])
    .map((line) => line.trim())
    .filter((line) => gpuLine.test(line))
    .slice(0, maxGpus);
  const clocks = details.flatMap((line) => {
    const [, mhz] = /, (\d{2,5}) MHz\b/.exec(line) ?? [];
    return mhz === undefined ? [] : [Number(mhz)];
  });
  return { clockMhz: clocks.length === 0 ? null : Math.min(...clocks), details };
}
