import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { SimulatedClock } from '../../clock/index.ts';
import { createBodyDrain } from './body-drain.ts';

const mebibyte = 1_048_576;
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function begin() {
  const clock = new SimulatedClock();
  const { drain } = createBodyDrain(clock);
  const start = () => {
    const request = new PassThrough();
    let ends = 0;
    drain(request, () => (ends += 1));
    const send = async (bytes: number): Promise<void> => {
      request.write(Buffer.alloc(bytes));
      await nextTurn();
    };
    return { request, send, ends: () => ends };
  };
  return { clock, start, ...start() };
}

describe('createBodyDrain', () => {
  test('continues while a slow client sends', async () => {
    const { clock, request, send, ends } = begin();
    for (let second = 0; second < 20; second += 1) {
      await send(1_000);
      await clock.advance(1_000);
    }
    expect(ends()).toBe(0);
    request.end();
    await nextTurn();
    expect(ends()).toBe(1);
  });

  test.each([
    ['two idle seconds', 1, 2_500],
    ['half a minute', 40, 1_000],
  ])('stops after %s', async (_, times, waitMs) => {
    const { clock, send, ends } = begin();
    for (let nth = 0; nth < times; nth += 1) {
      await send(1_000);
      await clock.advance(waitMs);
    }
    expect(ends()).toBe(1);
  });

  test('continues after a stall during which the client sent bytes', async () => {
    const timers = new Set<{ readonly ms: number; readonly action: () => void }>();
    const after = (ms: number, action: () => void) => {
      const timer = { ms, action };
      timers.add(timer);
      return () => void timers.delete(timer);
    };
    /** Simulates a stall of two seconds: expired timers fire before any read. */
    const stall = (): void => {
      for (const timer of [...timers]) {
        if (timer.ms <= 2_000 && timers.delete(timer)) timer.action();
      }
    };
    const request = new PassThrough();
    let ends = 0;
    createBodyDrain({ after }).drain(request, () => (ends += 1));
    for (let nth = 0; nth < 5; nth += 1) {
      stall();
      request.write(Buffer.alloc(1_000));
      await nextTurn();
      expect(ends).toBe(0);
    }
    stall();
    stall();
    expect(ends).toBe(1);
  });

  test('stops after 128 MiB', async () => {
    const { send, ends } = begin();
    for (let nth = 0; nth < 140; nth += 1) await send(mebibyte);
    expect(ends()).toBe(1);
  });

  test('stops at once while 256 others are drained, and drains again when one of them ends', async () => {
    const first = begin();
    for (let nth = 1; nth < 256; nth += 1) expect(first.start().ends()).toBe(0);
    expect(first.start().ends()).toBe(1);
    first.request.destroy();
    await nextTurn();
    expect(first.start().ends()).toBe(0);
    expect(first.start().ends()).toBe(1);
  });
});
