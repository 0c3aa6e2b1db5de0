import { setTimeout as timer } from 'node:timers/promises';

// The tool waits for real processes, so it lives on real time; this is the only file that asks for it.

export function sleep(milliseconds: number): Promise<void> {
  return timer(milliseconds);
}

/** Milliseconds since the process began; only differences mean anything. */
export function elapsedMs(): number {
  return performance.now();
}

export function timestamp(): string {
  return new Date().toISOString();
}

/** `0.3 s`, `12.0 s`: right-aligned so that a column of them reads well. */
export function formatSeconds(milliseconds: number): string {
  return `${(milliseconds * 0.001).toFixed(1)} s`;
}

/**
 * Calls `attempt` until it does not throw, and returns what it returned. After the time limit the last
 * error is thrown. `giveUp` may throw earlier, when waiting longer cannot help.
 */
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
