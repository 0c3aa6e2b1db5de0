import type { DeploymentEntry } from '@millrace/core/inference';
import { withDeadline, type Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import type { DeploymentState } from './deployment-state.ts';
import type { ProbeLimits } from './limits.ts';
import { publishesLoad, readLoad } from './engine-load.ts';
import { healthPath, isHealthyStatus, METRICS_PATH, type SendProbe } from './prober.ts';

export interface DeploymentMonitorOptions {
  readonly entry: DeploymentEntry;
  readonly state: DeploymentState;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly probe: SendProbe;
  readonly limits: ProbeLimits;
  /** Called after each probe, so that queued requests can be routed again. */
  readonly onNews: () => void;
}

/** Servers without the page might be updated, so they are asked again rarely. */
const MISSING_PAGE_RETRY_MS = 60_000;
/** Minimum interval between probes that failed calls trigger. */
const MIN_PROBE_INTERVAL_MS = 100;

/** Probes load and health of one deployment while requests use it; healthy deployments less often. */
export class DeploymentMonitor {
  /** The latest catalog entry. */
  entry: DeploymentEntry;
  readonly #options: DeploymentMonitorOptions;
  readonly #healthPath: string | null;
  #cancel: (() => void) | null = null;
  #isLooking = false;
  #isClosed = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #healthDueMs = Number.NEGATIVE_INFINITY;
  #metricsDueMs = Number.NEGATIVE_INFINITY;

  constructor(options: DeploymentMonitorOptions) {
    this.entry = options.entry;
    this.#options = options;
    this.#healthPath = healthPath(options.entry.engine);
  }

  /** Cheap if already started, because it runs for each request. */
  start(): void {
    if (this.#cancel === null && !this.#isLooking && !this.#isClosed && this.#healthPath !== null)
      this.#look();
  }

  /** Probes at once after a failed call, to find out whether the deployment caused it. */
  lookNow(): void {
    if (this.#isLooking || this.#isClosed || this.#healthPath === null) return;
    this.#healthDueMs = Number.NEGATIVE_INFINITY;
    if (this.#options.clock.monotonicMs() - this.#lookedAtMs < MIN_PROBE_INTERVAL_MS) return;
    this.#cancel?.();
    this.#look();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#cancel = null;
  }

  #look(): void {
    this.#cancel = null;
    this.#isLooking = true;
    this.#lookedAtMs = this.#options.clock.monotonicMs();
    const before = this.#options.state.health;
    void this.#lookOnce().finally(() => {
      this.#isLooking = false;
      if (this.#isClosed) return;
      this.#notify(before);
      this.#options.onNews();
      this.#goOn();
    });
  }

  #goOn(): void {
    const { clock, state, limits } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - state.lastUsedMs > limits.idleAfterMs) {
      state.unwatched();
      return;
    }
    const waitMs = Math.max(0, this.#lookedAtMs + limits.everyMs - nowMs);
    this.#cancel = clock.after(waitMs, () => this.#look());
  }

  async #lookOnce(): Promise<void> {
    const { state, limits } = this.#options;
    const hasLoad = publishesLoad(this.entry.engine) && this.#lookedAtMs >= this.#metricsDueMs;
    const loadIsRead = hasLoad && (await this.#readLoad());
    // An engine that should report its load and did not might be down, so its health is checked early.
    const isDue = this.#lookedAtMs >= this.#healthDueMs || (hasLoad && !loadIsRead);
    if (!isDue && (state.health === 'healthy' || state.health === 'unknown')) return;
    this.#healthDueMs = this.#lookedAtMs + limits.healthEveryMs;
    await this.#checkHealth();
  }

  async #readLoad(): Promise<boolean> {
    const { entry } = this;
    const { state, clock } = this.#options;
    const inFlightWhenSent = state.inFlight;
    const response = await this.#get(METRICS_PATH).catch(() => null);
    if (response === null || response.status >= 500) return false;
    const reading = response.status === 200 ? readLoad(entry.engine, response.text) : null;
    if (reading === null) this.#metricsDueMs = this.#lookedAtMs + MISSING_PAGE_RETRY_MS;
    else state.read(reading, inFlightWhenSent, clock.monotonicMs());
    return true;
  }

  async #checkHealth(): Promise<void> {
    const { entry } = this;
    const { state, clock } = this.#options;
    const sentAtMs = clock.monotonicMs();
    const response = await this.#get(this.#healthPath ?? '').catch(() => null);
    const result = response === null ? false : isHealthyStatus(entry.engine, response.status);
    if (result === false) {
      state.probeFailed(sentAtMs);
      return;
    }
    state.probed(result, clock.monotonicMs());
    if (result === null) this.#healthDueMs = this.#lookedAtMs + MISSING_PAGE_RETRY_MS;
  }

  #get(path: string): ReturnType<SendProbe> {
    const { entry } = this;
    const { clock, limits, probe } = this.#options;
    return withDeadline(clock, `GET ${path} of ${entry.id}`, limits.timeoutMs, (signal) =>
      probe(entry, path, signal),
    );
  }

  #notify(before: DeploymentState['health']): void {
    const { entry } = this;
    const { state, log } = this.#options;
    if (state.health === before) return;
    const line = { deployment: entry.id, engine: entry.engine, before, now: state.health };
    if (state.health === 'down') log.warn(line, 'deployment is down: its health check failed repeatedly');
    else if (before === 'down') log.info(line, 'deployment is reachable again');
  }
}
