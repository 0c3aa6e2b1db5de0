import type { Dispatcher } from 'undici';
import type { UpstreamRequest } from '../../adapters/text/text-adapter.ts';
import { mockResponseTo } from '../../adapters/text/mock-text-engine.ts';

/** Feeds the mock engine's response to a handler as if it came over a connection. */
export function dispatchToMock(request: UpstreamRequest, handler: Dispatcher.DispatchHandler): void {
  const { status, contentType, chunks } = mockResponseTo(request);
  let next = 0;
  let isPaused = false;
  let reason: Error | null = null;
  const controller: Dispatcher.DispatchController = {
    get aborted() {
      return reason !== null;
    },
    get paused() {
      return isPaused;
    },
    get reason() {
      return reason;
    },
    abort(why) {
      reason = why;
    },
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      play();
    },
  };
  function play(): void {
    while (!isPaused && reason === null && next < chunks.length) {
      const chunk = chunks[next];
      next += 1;
      if (chunk !== undefined) handler.onResponseData?.(controller, chunk);
    }
    if (isPaused || reason !== null || next > chunks.length) return;
    next = chunks.length + 1;
    handler.onResponseEnd?.(controller, {});
  }
  // Asynchronous, because a real engine never responds within the call.
  queueMicrotask(() => {
    handler.onRequestStart?.(controller, {});
    if (reason !== null) return;
    handler.onResponseStart?.(controller, status, { 'content-type': contentType });
    play();
  });
}
