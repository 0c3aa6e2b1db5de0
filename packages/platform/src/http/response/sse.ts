import type { ServerResponse } from 'node:http';
import type { Timer } from '../../clock/index.ts';
import type { SseEvent, SseReply } from './reply.ts';

export interface SseLimits {
  readonly sseHeartbeatMs: number;
  readonly sseMaxBufferedBytes: number;
  readonly sseMaxDurationMs: number;
}

export interface SseOptions {
  readonly response: ServerResponse;
  readonly clock: Timer;
  readonly limits: SseLimits;
  /** Aborts when the process drains. */
  readonly draining: AbortSignal;
  /** Asked at every beat: a stream outlives the check at the door, and must not outlive the right to it. */
  readonly stillAdmitted: () => Promise<boolean>;
}

/**
 * Streams events until the producer returns, the client leaves or may no longer listen, the process drains or the
 * stream has lasted long enough. The head must have been written already. Clients reconnect with `Last-Event-ID`, so ending a
 * stream early loses nothing.
 */
export async function streamEvents(reply: SseReply, options: SseOptions): Promise<void> {
  const { response, clock, limits } = options;
  const left = new AbortController();
  const onClose = (): void => left.abort();
  response.once('close', onClose);
  const over = AbortSignal.any([left.signal, options.draining]);
  const ended = new AbortController();
  const signal = AbortSignal.any([over, ended.signal]);

  void endAfter(clock, limits.sseMaxDurationMs, ended);
  void sendHeartbeats(options, signal, { left, ended });
  try {
    await reply.produce({ signal, send: (event) => send(options, signal, formatEvent(event)) });
  } finally {
    ended.abort();
    response.off('close', onClose);
    response.end();
  }
}

async function endAfter(clock: Timer, ms: number, ended: AbortController): Promise<void> {
  await clock.sleep(ms, ended.signal).catch(() => undefined);
  ended.abort();
}

/**
 * A comment now and then keeps proxies from closing a quiet stream. A client that has not read what was sent
 * by the time of the next beat, with the buffer full, is gone in all but name.
 */
async function sendHeartbeats(
  { response, clock, limits, stillAdmitted }: SseOptions,
  signal: AbortSignal,
  { left, ended }: { readonly left: AbortController; readonly ended: AbortController },
): Promise<void> {
  for (;;) {
    await clock.sleep(limits.sseHeartbeatMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    if (response.writableLength > limits.sseMaxBufferedBytes) {
      left.abort();
      response.destroy();
      return;
    }
    if (!(await stillAdmitted())) ended.abort();
    if (signal.aborted) return;
    response.write(': keep-alive\n\n');
  }
}

async function send({ response }: SseOptions, signal: AbortSignal, text: string): Promise<boolean> {
  if (signal.aborted) return false;
  if (response.write(text)) return true;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
  });
  return !signal.aborted;
}

/** One event on the wire. JSON holds no raw line breaks, so one `data:` line always does. */
export function formatEvent(event: SseEvent): string {
  const lines = event.data === undefined ? [] : [`data: ${JSON.stringify(event.data)}`];
  if (event.event !== undefined) lines.unshift(`event: ${oneLine(event.event)}`);
  if (event.id !== undefined) lines.unshift(`id: ${oneLine(event.id)}`);
  return `${lines.join('\n')}\n\n`;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\0]/g, '');
}

/** Headers of every event stream. Its connection ends with it, so that none lingers when the process drains. */
export const sseHeaders = {
  connection: 'close',
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;
