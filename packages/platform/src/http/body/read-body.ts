import type { Readable } from 'node:stream';
import type { Timer } from '../../clock/index.ts';
import { Fault } from '../../fault/index.ts';
import type { BodyReservation } from './body-budget.ts';

export interface ReadBodyOptions<Parsed> {
  /** The Content-Length; 0 if the client sent none. */
  readonly announced: number;
  readonly maxBytes: number;
  /** Without it, only the server's own timeouts end a slow body. */
  readonly arrival?: { readonly timer: Timer; readonly timeoutMs: number };
  /** Released after the memory of the body was freed, on every outcome. */
  readonly share: BodyReservation;
  /** The bytes are freed when this returns, so the result must not refer to them. */
  parse(bytes: Buffer): Parsed;
  done(body: Parsed): void;
  /** Called on a refusal or an error of `parse`. The rest of the body stays unread. */
  fail(error: unknown): void;
  /** Called if the client disconnects during the body. */
  left?(): void;
}

const firstBytes = 16 * 1024;

/**
 * Reads a body into one buffer. Uses callbacks because a promise per request is measurably slower. One growing buffer
 * instead of a list of chunks, because a client that sends single bytes would cost a hundred bytes each. Frees buffers
 * explicitly: the garbage collector would hold those of disconnected clients uncounted.
 */
export function readBody<Parsed>(request: Readable, reading: ReadBodyOptions<Parsed>): void {
  const { announced, maxBytes, share } = reading;
  let own: Buffer<ArrayBuffer> | null = null;
  let bytes: Buffer = Buffer.alloc(0);
  let length = 0;

  let cancelTimeout: (() => void) | null = null;
  const detach = (): void => {
    cancelTimeout?.();
    request.off('data', onData).off('end', onEnd).off('close', onClose);
  };
  const free = (): void => {
    own?.buffer.transfer(0);
    own = null;
    share.release();
  };
  const refuse = (error: unknown): void => {
    detach();
    free();
    reading.fail(error);
  };
  const enlarge = (needed: number): void => {
    const size = Math.min(Math.max(2 * bytes.length, needed, firstBytes), maxBytes);
    share.take(size - bytes.length);
    const larger = Buffer.allocUnsafeSlow(size);
    bytes.copy(larger, 0, 0, length);
    own?.buffer.transfer(0);
    own = larger;
    bytes = larger;
  };
  const onData = (chunk: Buffer): void => {
    const needed = length + chunk.length;
    try {
      if (needed > maxBytes) throw new Fault('BODY_TOO_LARGE');
      // Avoid a copy in the usual case that one chunk has the whole body.
      if (length === 0 && chunk.length === announced) {
        share.take(chunk.length);
        bytes = chunk;
      } else {
        if (needed > bytes.length) enlarge(needed);
        chunk.copy(bytes, length);
      }
    } catch (error) {
      refuse(error);
      return;
    }
    length = needed;
  };
  const onEnd = (): void => {
    detach();
    let body: Parsed;
    try {
      body = reading.parse(bytes.subarray(0, length));
    } catch (error) {
      free();
      reading.fail(error);
      return;
    }
    free();
    reading.done(body);
  };
  const onClose = (): void => {
    detach();
    free();
    reading.left?.();
  };

  // A client that disconnected before emits no further event, so its reservation would never be released.
  if (request.destroyed) onClose();
  else if (announced > maxBytes) refuse(new Fault('BODY_TOO_LARGE'));
  else {
    request.on('data', onData).on('end', onEnd).on('close', onClose);
    const { arrival } = reading;
    cancelTimeout = arrival?.timer.after(arrival.timeoutMs, () => refuse(new Fault('BODY_TIMEOUT'))) ?? null;
  }
}
