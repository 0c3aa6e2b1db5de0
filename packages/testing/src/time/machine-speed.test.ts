import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { systemClock } from '@millrace/platform/clock';
import { describe, expect, test } from 'vitest';
import { eventually } from './eventually.ts';
import { runMsWithoutStalls, startStopwatch, type LostTime } from './machine-speed.ts';

const before: LostTime = { frozenMs: 500, stolenMs: [1_000, 2_000], queuedMs: 70, diskMs: 30 };

describe('runMsWithoutStalls', () => {
  test.each<[string, Partial<LostTime>, number]>([
    ['all of it if no time was lost', {}, 1_000],
    ['without a freeze of the machine', { frozenMs: 900 }, 600],
    ['without the stolen time of the worst processor', { stolenMs: [1_300, 2_100] }, 700],
    ['without waits for a processor and for the disk', { queuedMs: 170, diskMs: 80 }, 850],
    [
      'without a freeze, subtracted once if it also counts as stolen',
      { frozenMs: 900, stolenMs: [1_400, 2_390] },
      600,
    ],
    ['without the sum of stolen time and waits', { stolenMs: [1_000, 2_200], queuedMs: 170 }, 700],
    ['never negative', { frozenMs: 5_000 }, 0],
  ])('returns the wall time, %s', (_what, lost, expected) => {
    expect(runMsWithoutStalls(1_000, before, { ...before, ...lost })).toBe(expected);
  });
});

/** Blocks this thread without using the CPU, like code that blocks the event loop. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('startStopwatch', () => {
  test('counts waits and a blocked event loop of the measured process', async () => {
    // A stall may take nearly all of one measurement, but not of five in a row.
    const measured: number[] = [];
    for (let nth = 0; nth < 5; nth += 1) {
      const stopwatch = startStopwatch();
      await systemClock.sleep(200);
      block(300);
      measured.push(await stopwatch.elapsedMs());
    }
    expect(Math.max(...measured)).toBeGreaterThan(400);
  });

  test('excludes a second in which the process was stopped', async () => {
    const program = `
      import { startStopwatch } from ${JSON.stringify(new URL('./machine-speed.ts', import.meta.url).href)};
      await startStopwatch().elapsedMs();
      const stopwatch = startStopwatch();
      const startedMs = performance.now();
      process.kill(process.pid, 'SIGSTOP');
      const wallMs = performance.now() - startedMs;
      console.log(JSON.stringify({ wallMs, shownMs: await stopwatch.elapsedMs() }));
      process.exit();
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
    const output = text(child.stdout);
    const isStopped = (): boolean => / [Tt] /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8'));
    await eventually({ what: 'the process to stop' }, isStopped);
    await systemClock.sleep(1_000);
    child.kill('SIGCONT');
    await once(child, 'close');
    const { wallMs, shownMs } = JSON.parse(await output) as { wallMs: number; shownMs: number };
    expect(wallMs).toBeGreaterThan(990);
    expect(shownMs).toBeLessThan(wallMs - 900);
  });

  test('never shows more than the wall time', async () => {
    const wallMs = systemClock.monotonicMs();
    const stopwatches = [startStopwatch(), startStopwatch()];
    await systemClock.sleep(50);
    for (const stopwatch of stopwatches) {
      const shownMs = await stopwatch.elapsedMs();
      expect(shownMs).toBeGreaterThanOrEqual(0);
      expect(shownMs).toBeLessThanOrEqual(systemClock.monotonicMs() - wallMs);
    }
  });
});
