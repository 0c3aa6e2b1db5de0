import type { Readable } from 'node:stream';
import type { Timer } from '../../clock/index.ts';
import { Fault } from '../../fault/index.ts';
import type { BodyReservation } from './body-budget.ts';

export interface ReadBodyOptions<Parsed> {
  /** The length that the client announced; 0 if it announced none. */
  readonly announced: number;
  readonly maxBytes: number;
  /** Left out, the server's own time-outs alone end a body that does not arrive. */
  readonly arrival?: { readonly timer: Timer; readonly timeoutMs: number };
  /** Released once the memory of the body is freed, however the reading ends. */
  readonly share: BodyReservation;
  /** The bytes are freed when this returns: the result must not refer to them. */
  parse(bytes: Buffer): Parsed;
  done(body: Parsed): void;
  /** A refusal, or an error of `parse`. The rest of the body is left unread. */
  fail(error: unknown): void;
  /** The client went away before the body was whole. */
  left?(): void;
}

const firstBytes = 16 * 1024;

/**
 * Reads a body in one piece. Callbacks, since a promise for each request is a cost that shows. The bytes are copied into one
 * buffer that grows: a list of chunks would cost a hundred bytes for each byte of a client that sends them singly. Buffers
 * are freed by hand: left to the garbage collector, those of clients that went away would be held and not counted.
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
      // The whole body in one chunk, as most are: no copy.
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

  // A client that left before its body was read sends no further event: its share would never be released.
  if (request.destroyed) onClose();
  else if (announced > maxBytes) refuse(new Fault('BODY_TOO_LARGE'));
  else {
    request.on('data', onData).on('end', onEnd).on('close', onClose);
    const { arrival } = reading;
    cancelTimeout = arrival?.timer.after(arrival.timeoutMs, () => refuse(new Fault('BODY_TIMEOUT'))) ?? null;
  }
}
