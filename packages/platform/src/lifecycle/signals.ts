import type { Logger } from '../log/index.ts';
import type { Lifecycle } from './lifecycle.ts';

/** The part of `process` that is used, so that tests can replace it. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: string) => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT', listener: (signal: string) => void): unknown;
  exit(code: number): void;
}

/** Drains on the first signal and exits with 0 if clean, else 1. A second signal exits at once. */
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
        log.error({ err: error }, 'drain failed');
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
