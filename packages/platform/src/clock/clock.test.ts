import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeadlineError, SimulatedClock, systemClock, withDeadline } from './index.ts';

describe('SimulatedClock', () => {
  it('does not move until a test advances it', async () => {
    const clock = new SimulatedClock(1_000);
    expect([clock.nowMs(), clock.now().getTime(), clock.monotonicMs()]).toEqual([1_000, 1_000, 0]);
    await clock.advance(250);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_250, 250]);
  });

  it('resolves sleeps in the order of their time, then of their start, each at its exact instant', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 20 }), async (waits) => {
        const clock = new SimulatedClock(0);
        const woken: { index: number; atMs: number }[] = [];
        waits.forEach((ms, index) => {
          void clock.sleep(ms).then(() => woken.push({ index, atMs: clock.nowMs() }));
        });
        await clock.advance(50);
        const expected = waits
          .map((ms, index) => ({ index, atMs: ms }))
          .toSorted((a, b) => a.atMs - b.atMs || a.index - b.index);
        expect(woken).toEqual(expected);
        expect(clock.sleeping).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it('resolves sleeps that start while the clock advances', async () => {
    const clock = new SimulatedClock(0);
    const ticks: number[] = [];
    const ticking = (async () => {
      for (let count = 0; count < 5; count += 1) {
        await clock.sleep(10);
        ticks.push(clock.nowMs());
      }
    })();
    await clock.advance(50);
    await ticking;
    expect(ticks).toEqual([10, 20, 30, 40, 50]);
  });

  it('rejects a sleep whose signal aborts before or during the wait', async () => {
    const clock = new SimulatedClock();
    const abort = new AbortController();
    const waiting = clock.sleep(10, abort.signal);
    abort.abort(new Error('no longer needed'));
    await expect(waiting).rejects.toThrow('no longer needed');
    await expect(clock.sleep(10, abort.signal)).rejects.toThrow('no longer needed');
    expect(clock.sleeping).toBe(0);
  });

  it('runs an action at its time, unless it was cancelled', async () => {
    const clock = new SimulatedClock(0);
    const ran: string[] = [];
    clock.after(10, () => ran.push(`kept at ${clock.nowMs()}`));
    const cancel = clock.after(5, () => ran.push('cancelled'));
    cancel();
    await clock.advance(20);
    expect(ran).toEqual(['kept at 10']);
    expect(clock.sleeping).toBe(0);
  });

  it('keeps monotonic time when the wall clock is corrected backwards', async () => {
    const clock = new SimulatedClock(1_000);
    clock.stepWallClock(-400);
    await clock.advance(100);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([700, 100]);
  });

  it('refuses to move backwards', async () => {
    await expect(new SimulatedClock().advance(-1)).rejects.toThrow(RangeError);
    await expect(new SimulatedClock().advance(Number.NaN)).rejects.toThrow(RangeError);
  });
});

describe('systemClock', () => {
  it('sleeps at least the requested time, and rejects at once if aborted', async () => {
    const startMs = systemClock.monotonicMs();
    await systemClock.sleep(5);
    expect(systemClock.monotonicMs() - startMs).toBeGreaterThanOrEqual(4);
    await expect(systemClock.sleep(60_000, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });

  it('does not end a sleep early if it is longer than one Node timer allows', async () => {
    const abort = new AbortController();
    const waiting = systemClock.sleep(2 ** 40, abort.signal);
    const first = await Promise.race([waiting.then(() => 'woke'), systemClock.sleep(5).then(() => 'asleep')]);
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(first).toBe('asleep');
  });

  it('runs an action later, unless it was cancelled', async () => {
    const ran: string[] = [];
    const cancel = systemClock.after(1, () => ran.push('cancelled'));
    cancel();
    await new Promise<void>((resolve) => {
      systemClock.after(5, resolve);
    });
    expect(ran).toEqual([]);
  });
});

describe('withDeadline', () => {
  it('returns the result and rethrows the error of the work', async () => {
    const clock = new SimulatedClock();
    await expect(withDeadline(clock, 'Work', 10, async () => 'done')).resolves.toBe('done');
    await expect(withDeadline(clock, 'Work', 10, () => Promise.reject(new Error('broken')))).rejects.toThrow(
      'broken',
    );
    const thrower = (): Promise<never> => {
      throw new Error('broken at once');
    };
    await expect(withDeadline(clock, 'Work', 10, thrower)).rejects.toThrow('broken at once');
    expect(clock.sleeping).toBe(0);
  });

  it('rejects and aborts the signal when the work takes too long', async () => {
    const clock = new SimulatedClock();
    let signal: AbortSignal | undefined;
    const result = withDeadline(clock, 'Work', 10, (given) => {
      signal = given;
      return new Promise(() => undefined);
    });
    const failure = result.catch((error: unknown) => error);
    await clock.advance(10);
    expect(await failure).toEqual(new DeadlineError('Work', 10));
    expect(signal?.aborted).toBe(true);
  });
});
