import { pbkdf2Sync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { systemClock } from '@millrace/platform/clock';

/** The duration of the probe on an idle core of the machine for which the product's times were promised. */
const PROBE_MS = 20;
const PROBE_ITERATIONS = 20_000;
const PROBES = 3;

function probeMs(): number {
  const startedMs = systemClock.monotonicMs();
  pbkdf2Sync('probe', 'probe', PROBE_ITERATIONS, 32, 'sha256');
  return systemClock.monotonicMs() - startedMs;
}

/** A promised time, scaled by the current slowness of this machine. Measure with `startStopwatch`. */
export function scaledLimitMs(promisedMs: number): number {
  const slowestMs = Math.max(...Array.from({ length: PROBES }, probeMs));
  return promisedMs * Math.max(1, slowestMs / PROBE_MS);
}

/** Totals of the time that the machine lost. Only the difference of two readings is meaningful. */
export interface LostTime {
  /** The whole machine stood still, as measured by a thread that only ticks. */
  readonly frozenMs: number;
  /** The time that the hypervisor took from each CPU. */
  readonly stolenMs: readonly number[];
  /** The time that the test's thread waited for a CPU. */
  readonly queuedMs: number;
  /** The time in which at least one process waited for the disk. */
  readonly diskMs: number;
}

/** The wall time without lost time. A freeze may also count as stolen time, so it is not added to the other kinds. */
export function runMsWithoutStalls(wallMs: number, before: LostTime, after: LostTime): number {
  const stolenMs = Math.max(0, ...after.stolenMs.map((ms, cpu) => ms - (before.stolenMs[cpu] ?? 0)));
  const waitedMs = after.queuedMs - before.queuedMs + (after.diskMs - before.diskMs);
  return Math.max(0, wallMs - Math.max(after.frozenMs - before.frozenMs, stolenMs + waitedMs));
}

/** Empty if the kernel does not have the file. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** The kernel counts stolen time in 10 ms, queued time in nanoseconds and disk waits in microseconds. */
function readLostTime(): LostTime {
  const cpus = readText('/proc/stat').matchAll(/^cpu\d+(?: \d+){7} (\d+)/gm);
  return {
    frozenMs: frozenMs[0] ?? 0,
    stolenMs: Array.from(cpus, ([, hundredths]) => Number(hundredths) * 10),
    queuedMs: Number(readText('/proc/thread-self/schedstat').split(' ')[1] ?? 0) / 1_000_000,
    diskMs: Number(/^some .*total=(\d+)/m.exec(readText('/proc/pressure/io'))?.[1] ?? 0) / 1_000,
  };
}

/** One thread for all stopwatches. It keeps the process alive only while a response is pending. */
let ticker: Worker | undefined;
const waiting: (() => void)[] = [];
const frozenMs = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));

function startTicker(): Worker {
  const url = new URL('./stall-ticker.ts', import.meta.url);
  const started = new Worker(url, { workerData: frozenMs, execArgv: [] });
  started.on('message', () => {
    waiting.shift()?.();
    if (waiting.length === 0) started.unref();
  });
  started.unref();
  return started;
}

/** Waits for the next tick, which records a stall that has just ended. */
async function nextTick(): Promise<void> {
  const worker = (ticker ??= startTicker());
  await new Promise<void>((resolve) => {
    waiting.push(resolve);
    worker.ref();
    worker.postMessage('report the next tick');
  });
}

export interface Stopwatch {
  /** The time from the start to this call, without stalls of the machine. */
  elapsedMs(): Promise<number>;
}

export function startStopwatch(): Stopwatch {
  ticker ??= startTicker();
  const before = readLostTime();
  const startedMs = systemClock.monotonicMs();
  return {
    async elapsedMs() {
      const wallMs = systemClock.monotonicMs() - startedMs;
      await nextTick();
      return runMsWithoutStalls(wallMs, before, readLostTime());
    },
  };
}
