import type { Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { gauge, onScrape } from '../telemetry/index.ts';
import { createCheckRunner } from './health.ts';
import type { HealthReport, LifecycleState, ReadinessCheck } from './health.ts';

/** Phases of a drain: refuse connections, end requests, stop consumers and loops, close the pools. */
export const drainPhases = ['accept', 'requests', 'consumers', 'pools'] as const;
export type DrainPhase = (typeof drainPhases)[number];

const readyGauge = gauge('millrace_ready');
const failingGauge = gauge('millrace_check_failing');

export interface LifecycleOptions {
  readonly clock: Timer;
  readonly log: Logger;
  /** The time from the begin of the drain until remaining steps are abandoned. */
  readonly drainDeadlineMs: number;
  /** How long a running process reports "not ready" and serves on, so that load balancers notice before it drains. */
  readonly lameDuckMs?: number;
}

export interface Lifecycle {
  readonly state: LifecycleState;
  /** Aborts at the first request to stop: the process reports "not ready" and still serves. */
  readonly leaving: AbortSignal;
  /** Aborts when draining begins, after the lame-duck period. */
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
  const { clock, log, lameDuckMs = 0 } = options;
  const checks = createCheckRunner(clock);
  const steps: DrainStep[] = [];
  const leaving = new AbortController();
  const draining = new AbortController();
  let state: LifecycleState = 'starting';
  let drain: Promise<boolean> | undefined;
  let endScrapes = (): void => undefined;

  async function ready(): Promise<HealthReport> {
    const wasRunning = state === 'running';
    const results = await checks.run();
    const failed = Object.values(results).filter((result) => !result.ok);
    const isReady = wasRunning && state === 'running' && !failed.some((result) => result.required);
    return { ready: isReady, degraded: isReady && failed.length > 0, state, checks: results };
  }

  /** A process that did not finish its start has no requests to serve, so it does not wait. */
  async function waitAsLameDuck(reason: string): Promise<void> {
    const waits = state === 'running' && lameDuckMs > 0;
    state = waits ? 'lame-duck' : 'draining';
    leaving.abort(new Error(`leaving: ${reason}`));
    if (!waits) return;
    log.info({ reason, lameDuckMs }, 'not ready; serving until load balancers have noticed');
    await clock.sleep(lameDuckMs);
  }

  async function runDrain(reason: string): Promise<boolean> {
    await waitAsLameDuck(reason);
    state = 'draining';
    const startedMs = clock.monotonicMs();
    log.info({ reason }, 'draining');
    draining.abort(new Error(`draining: ${reason}`));
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
    endScrapes();
    log.info({ reason, clean, tookMs: Math.round(clock.monotonicMs() - startedMs) }, 'drained');
    return clean;
  }

  return {
    get state() {
      return state;
    },
    leaving: leaving.signal,
    draining: draining.signal,
    addCheck: checks.add,
    onDrain: (phase, name, run) => steps.push({ phase, name, run }),
    started: () => {
      if (state !== 'starting') return;
      state = 'running';
      endScrapes = onScrape(async () => recordHealth(await ready()));
    },
    live: () => state !== 'stopped',
    ready,
    shutdown: (reason) => (drain ??= runDrain(reason)),
  };
}

function recordHealth({ ready, checks }: HealthReport): void {
  readyGauge.record(ready ? 1 : 0);
  for (const [check, { ok, required }] of Object.entries(checks))
    failingGauge.record(ok ? 0 : 1, { check, required });
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
