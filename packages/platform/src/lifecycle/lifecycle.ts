import type { Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { runChecks } from './health.ts';
import type { HealthReport, ReadinessCheck } from './health.ts';

export type LifecycleState = 'starting' | 'running' | 'draining' | 'stopped';

/** Phases of a drain: refuse connections, end requests, stop consumers and loops, close the pools. */
export const drainPhases = ['accept', 'requests', 'consumers', 'pools'] as const;
export type DrainPhase = (typeof drainPhases)[number];

export interface LifecycleOptions {
  readonly clock: Timer;
  readonly log: Logger;
  /** The time from the first signal until remaining steps are abandoned. */
  readonly drainDeadlineMs: number;
  /** How long to report "not ready" before refusing connections, so that load balancers notice first. */
  readonly lameDuckMs?: number;
}

export interface Lifecycle {
  readonly state: LifecycleState;
  /** Aborts when draining begins. */
  readonly draining: AbortSignal;
  addCheck(check: ReadinessCheck): void;
  /** Runs the step in the given phase of the drain, concurrently with other steps of that phase. */
  onDrain(phase: DrainPhase, name: string, step: () => Promise<void>): void;
  /** Call after start-up; from then on readiness depends on the checks. */
  started(): void;
  live(): boolean;
  ready(): Promise<HealthReport>;
  /** Drains once; a second call waits for the same drain. Resolves to true if every step ended in time. */
  shutdown(reason: string): Promise<boolean>;
}

interface DrainStep {
  readonly phase: DrainPhase;
  readonly name: string;
  readonly run: () => Promise<void>;
}

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { clock, log } = options;
  const checks: ReadinessCheck[] = [];
  const steps: DrainStep[] = [];
  const draining = new AbortController();
  let state: LifecycleState = 'starting';
  let drain: Promise<boolean> | undefined;
  let running: ReturnType<typeof runChecks> | undefined;

  async function runDrain(reason: string): Promise<boolean> {
    state = 'draining';
    const startedMs = clock.monotonicMs();
    log.info({ reason }, 'draining');
    draining.abort(new Error(`draining: ${reason}`));
    if (options.lameDuckMs !== undefined) await clock.sleep(options.lameDuckMs);
    let clean = true;
    for (const phase of drainPhases) {
      const leftMs = options.drainDeadlineMs - (clock.monotonicMs() - startedMs);
      const ended = await runPhase(
        steps.filter((step) => step.phase === phase),
        Math.max(0, leftMs),
        options,
      );
      clean &&= ended;
    }
    state = 'stopped';
    log.info({ reason, clean, tookMs: Math.round(clock.monotonicMs() - startedMs) }, 'drained');
    return clean;
  }

  return {
    get state() {
      return state;
    },
    draining: draining.signal,
    addCheck: (check) => {
      if (checks.some(({ name }) => name === check.name))
        throw new Error(`Check ${check.name} is already registered.`);
      checks.push(check);
    },
    onDrain: (phase, name, run) => steps.push({ phase, name, run }),
    started: () => {
      if (state === 'starting') state = 'running';
    },
    live: () => state !== 'stopped',
    ready: async () => {
      // Anyone may call this at any rate, so concurrent calls share one run of the checks.
      running ??= runChecks(checks, clock).finally(() => (running = undefined));
      const results = await running;
      const failed = Object.values(results).filter((result) => !result.ok);
      const ready = state === 'running' && !failed.some((result) => result.required);
      return { ready, degraded: ready && failed.length > 0, state, checks: results };
    },
    shutdown: (reason) => (drain ??= runDrain(reason)),
  };
}

/** Later phases run even if an earlier one timed out, because pools must close in any case. */
async function runPhase(
  steps: readonly DrainStep[],
  leftMs: number,
  { clock, log }: LifecycleOptions,
): Promise<boolean> {
  const over = new AbortController();
  const deadline = clock
    .sleep(leftMs, over.signal)
    .then(() => 'late' as const)
    .catch(() => 'late' as const);
  const outcomes = await Promise.all(
    steps.map(async (step) => {
      const run = Promise.resolve()
        .then(step.run)
        .then(() => 'ended' as const)
        .catch((error: unknown) => {
          log.error({ err: error, step: step.name, phase: step.phase }, 'drain step failed');
          return 'failed' as const;
        });
      const outcome = await Promise.race([run, deadline]);
      if (outcome === 'late') log.warn({ step: step.name, phase: step.phase }, 'drain step timed out');
      return outcome;
    }),
  );
  over.abort();
  return outcomes.every((outcome) => outcome === 'ended');
}
