import type { Readable } from 'node:stream';
import type { Timer } from '../../clock/index.ts';

/** A client that sends nothing for twice this long has noticed the refusal or disconnected. */
const halfIdleTimeoutMs = 1_000;
const maxMs = 30_000;
/** More than the largest body that deserves a response. */
const maxBytes = 128 * 1024 * 1024;
/** Discarded bytes use memory until garbage collection, so the number of concurrent drains is limited. */
const maxBodies = 256;

export interface BodyDrain {
  /**
   * Reads and discards the rest of a refused body. A client that sends everything before it reads then gets the
   * response instead of a connection reset. Calls `end` once: at the end of the body, when the client is idle, after
   * the maximum time or size, or at once if too many bodies are being drained.
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
  // Two timers in sequence: after a stall, the first fires before the bytes that arrived are read.
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
