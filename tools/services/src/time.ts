import { setTimeout as timer } from 'node:timers/promises';

// The tool waits for real processes, so it uses real time; only this file reads it.

export function sleep(milliseconds: number): Promise<void> {
  return timer(milliseconds);
}

export function elapsedMs(): number {
  return performance.now();
}

export function timestamp(): string {
  return new Date().toISOString();
}

export function formatSeconds(milliseconds: number): string {
  return `${(milliseconds * 0.001).toFixed(1)} s`;
}

/** Calls `attempt` until it succeeds. After the time limit its last error is thrown; `giveUp` may throw earlier. */
export async function eventually<T>(
  options: { readonly timeoutMs: number; readonly intervalMs: number; readonly giveUp?: () => void },
  attempt: () => Promise<T>,
): Promise<T> {
  const deadline = elapsedMs() + options.timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      options.giveUp?.();
      if (elapsedMs() >= deadline) throw error;
    }
    await sleep(options.intervalMs);
  }
}
