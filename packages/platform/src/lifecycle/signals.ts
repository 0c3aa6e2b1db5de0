import type { Logger } from '../log/index.ts';
import type { Lifecycle } from './lifecycle.ts';

/** The part of `process` this needs; tests pass their own. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: string) => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT', listener: (signal: string) => void): unknown;
  exit(code: number): void;
}

/**
 * The first SIGTERM or SIGINT drains and then exits: 0 when everything ended in time, 1 when something had to
 * be abandoned. A second one exits at once. Returns a function that takes the handlers away.
 */
export function installSignalHandlers(
  lifecycle: Lifecycle,
  log: Logger,
  source: SignalSource = process,
): () => void {
  let signalled = false;
  const listener = (signal: string): void => {
    if (signalled) {
      log.warn({ signal }, 'second signal: exiting without draining further');
      source.exit(1);
      return;
    }
    signalled = true;
    lifecycle
      .shutdown(signal)
      .then((clean) => source.exit(clean ? 0 : 1))
      .catch((error: unknown) => {
        log.error({ err: error }, 'the drain itself failed');
        source.exit(1);
      });
  };
  source.on('SIGTERM', listener);
  source.on('SIGINT', listener);
  return () => {
    source.off('SIGTERM', listener);
    source.off('SIGINT', listener);
  };
}
