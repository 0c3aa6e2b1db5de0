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
  readonly draining: AbortSignal;
  /** Checked at every heartbeat, because access may be revoked while the stream is open. */
  readonly stillAdmitted: () => Promise<boolean>;
}

/**
 * Streams events until the producer returns, the client disconnects or loses access, the process drains, or the maximum
 * duration has passed. The headers must have been sent. Clients reconnect with `Last-Event-ID`, so an early end loses
 * nothing.
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

/** Keeps proxies from closing an idle stream, and disconnects a client that has not read a full buffer. */
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

/** Serialises one event. JSON contains no raw line breaks, so one `data:` line is enough. */
export function formatEvent(event: SseEvent): string {
  const lines = event.data === undefined ? [] : [`data: ${JSON.stringify(event.data)}`];
  if (event.event !== undefined) lines.unshift(`event: ${oneLine(event.event)}`);
  if (event.id !== undefined) lines.unshift(`id: ${oneLine(event.id)}`);
  return `${lines.join('\n')}\n\n`;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\0]/g, '');
}

/** The connection closes with the stream, so that none remains when the process drains. */
export const sseHeaders = {
  connection: 'close',
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;
