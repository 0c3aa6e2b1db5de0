import type { Timer } from '../clock/index.ts';

export type LifecycleState = 'starting' | 'running' | 'lame-duck' | 'draining' | 'stopped';

/** Checks whether one dependency responds. Fails by throwing or by exceeding its timeout. */
export interface ReadinessCheck {
  readonly name: string;
  /** Default 2 seconds. */
  readonly timeoutMs?: number;
  /** True if the process cannot work without the dependency; false only reports it. */
  readonly required: boolean;
  readonly check: (signal: AbortSignal) => Promise<unknown>;
}

export interface CheckResult {
  readonly ok: boolean;
  readonly required: boolean;
  readonly tookMs: number;
  /** The reason of the failure, without addresses or secrets. */
  readonly detail?: string;
}

export interface HealthReport {
  readonly ready: boolean;
  /** Ready, but an optional dependency is unavailable. */
  readonly degraded: boolean;
  readonly state: LifecycleState;
  readonly checks: Readonly<Record<string, CheckResult>>;
}

const DEFAULT_TIMEOUT_MS = 2_000;

/** Anyone may ask for readiness at any rate, so results are reused for this time. */
const REUSE_MS = 1_000;

type CheckResults = Readonly<Record<string, CheckResult>>;

/** Runs all checks concurrently, each with its own timeout. Concurrent and soon following calls share one run. */
export function createCheckRunner(clock: Timer): {
  add(check: ReadinessCheck): void;
  run(): Promise<CheckResults>;
} {
  const checks: ReadinessCheck[] = [];
  let running: Promise<CheckResults> | null = null;
  let latest: { readonly results: CheckResults; readonly atMs: number } | null = null;
  return {
    add(check) {
      if (checks.some(({ name }) => name === check.name))
        throw new Error(`Check ${check.name} is already registered.`);
      checks.push(check);
      latest = null;
      running = null;
    },
    run() {
      if (latest !== null && clock.monotonicMs() - latest.atMs < REUSE_MS)
        return Promise.resolve(latest.results);
      if (running !== null) return running;
      const run = runChecks([...checks], clock).then((results) => {
        // A check that was added meanwhile is missing in this run.
        if (running === run) {
          latest = { results, atMs: clock.monotonicMs() };
          running = null;
        }
        return results;
      });
      running = run;
      return run;
    },
  };
}

async function runChecks(checks: readonly ReadinessCheck[], clock: Timer): Promise<CheckResults> {
  const results = await Promise.all(checks.map((check) => runCheck(check, clock)));
  return Object.fromEntries(checks.map((check, index) => [check.name, results[index] ?? neverRan(check)]));
}

function neverRan(check: ReadinessCheck): CheckResult {
  return { ok: false, required: check.required, tookMs: 0, detail: 'did not run' };
}

async function runCheck(check: ReadinessCheck, clock: Timer): Promise<CheckResult> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = check;
  const startedMs = clock.monotonicMs();
  const over = new AbortController();
  const timedOut = clock
    .sleep(timeoutMs, over.signal)
    .then(() => `no response within ${timeoutMs} ms`)
    .catch(() => undefined);
  const answered = Promise.resolve()
    .then(() => check.check(over.signal))
    .then(() => undefined)
    .catch((error: unknown) => failureKind(error));
  const detail = await Promise.race([answered, timedOut]);
  over.abort();
  const tookMs = Math.round(clock.monotonicMs() - startedMs);
  const base = { ok: detail === undefined, required: check.required, tookMs };
  return detail === undefined ? base : { ...base, detail };
}

/** Thrown by a check with a message for operators. The message is public, so it must not contain secrets. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
}

/** A driver's message may contain addresses or user names, so a public response shows only its class and code. */
function failureKind(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  if (error instanceof NotReadyError) return error.message;
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  return `failed: ${error.name}${code}`;
}
