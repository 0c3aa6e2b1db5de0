import type { Readable } from 'node:stream';
import type { Timer } from '../../clock/index.ts';

/** A client that sends nothing for twice this long has noticed that it was refused, or is gone. */
const halfIdleTimeoutMs = 1_000;
const maxMs = 30_000;
/** More than the largest body that is worth an answer. */
const maxBytes = 128 * 1024 * 1024;
/** Dropped bytes take memory until the garbage collector runs, so the bodies that are drained at the same time are bounded. */
const maxBodies = 256;

export interface BodyDrain {
  /**
   * Reads and drops the rest of a body that was refused, so that a client which sends all of it before it reads finds the
   * answer instead of a reset connection. Calls `end` once: when the body is over, when the client is silent, when it goes on
   * for too long, or at once when too many bodies are drained already.
   */
  drain(request: Readable, end: () => void): void;
}

export function createBodyDrain(clock: Pick<Timer, 'after'>): BodyDrain {
  let draining = 0;
  return {
    drain(request, end) {
      if (draining >= maxBodies) {
        end();
        return;
      }
      draining += 1;
      discardUntilIdle(request, clock, () => {
        draining -= 1;
        end();
      });
    },
  };
}

function discardUntilIdle(request: Readable, clock: Pick<Timer, 'after'>, end: () => void): void {
  let dropped = 0;
  let isOver = false;
  const stop = (): void => {
    if (isOver) return;
    isOver = true;
    cancelSilence();
    cancelLongest();
    request.off('data', onData).off('end', stop).off('close', stop);
    end();
  };
  const cancelLongest = clock.after(maxMs, stop);
  // Two timers in a row: after a stall of this process, a timer fires before the bytes that arrived meanwhile are read.
  const awaitSilence = (): (() => void) =>
    clock.after(halfIdleTimeoutMs, () => {
      cancelSilence = clock.after(halfIdleTimeoutMs, stop);
    });
  let cancelSilence = awaitSilence();
  const onData = (chunk: Buffer): void => {
    dropped += chunk.length;
    cancelSilence();
    if (dropped > maxBytes) stop();
    else cancelSilence = awaitSilence();
  };
  request.on('data', onData).on('end', stop).on('close', stop);
  request.resume();
}
