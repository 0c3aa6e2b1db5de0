import type { Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';

export interface LoopOptions {
  /** Its name in the loop catalog. */
  readonly name: string;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn'>;
  /** The wait after a step without work. `wake` ends it early. */
  readonly idleMs: number;
  /** The maximum wait after consecutive failures. */
  readonly maxBackoffMs?: number;
}

export interface Loop {
  wake(): void;
  /** Waits for the running step, then stops. */
  stop(): Promise<void>;
}

const FIRST_BACKOFF_MS = 25;
const DEFAULT_MAX_BACKOFF_MS = 1_000;

/** `startLoop`, or a function around it that decides when steps may run. */
export type StartLoop = typeof startLoop;

/** Repeats `step`: at once after `busy`, after a wait when `idle`, with backoff after a failure. */
export function startLoop(
  options: LoopOptions,
  step: (signal: AbortSignal) => Promise<'busy' | 'idle'>,
): Loop {
  const { clock, log, name } = options;
  const stopping = new AbortController();
  let woken = false;
  let cutShort: AbortController | undefined;

  const wait = async (ms: number, wakeable: boolean): Promise<void> => {
    if (wakeable && woken) return;
    const waiting = new AbortController();
    if (wakeable) cutShort = waiting;
    await clock.sleep(ms, AbortSignal.any([stopping.signal, waiting.signal])).catch(() => undefined);
    cutShort = undefined;
  };

  const run = async (): Promise<void> => {
    let backoffMs = 0;
    while (!stopping.signal.aborted) {
      woken = false;
      try {
        const outcome = await step(stopping.signal);
        backoffMs = 0;
        if (outcome === 'idle') await wait(options.idleMs, true);
      } catch (error) {
        const longestMs = options.maxBackoffMs ?? DEFAULT_MAX_BACKOFF_MS;
        const nextMs = Math.min(longestMs, Math.max(FIRST_BACKOFF_MS, backoffMs * 2));
        if (nextMs !== backoffMs) log.warn({ err: error, loop: name, retryInMs: nextMs }, 'loop step failed');
        backoffMs = nextMs;
        await wait(backoffMs, false);
      }
    }
  };

  const done = run();
  return {
    wake: () => {
      woken = true;
      cutShort?.abort();
    },
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
}
