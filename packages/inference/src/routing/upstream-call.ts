import type { DeploymentEntry } from '@millrace/core/inference';
import type { Clock } from '@millrace/platform/clock';
import type { ModelState, MonitoredDeployment } from './model-state.ts';
import type { UpstreamCall, UpstreamOutcome } from './router-types.ts';

export interface UpstreamCallHost {
  readonly clock: Clock;
  /** Called when capacity becomes free: a call ended or a trial passed. */
  readonly onEnd: (model: ModelState) => void;
}

export class DeploymentCall implements UpstreamCall {
  readonly outcome = 'to';
  readonly deployment: DeploymentEntry;
  readonly #host: UpstreamCallHost;
  readonly #model: ModelState;
  readonly #entry: MonitoredDeployment;
  /** Until the first byte, which decides the trial of a half-open breaker. */
  #isTrial: boolean;
  readonly #startedAtMs: number;
  #firstByteAtMs: number | null = null;
  #isOver = false;

  constructor(host: UpstreamCallHost, model: ModelState, deployment: MonitoredDeployment, nowMs: number) {
    this.deployment = deployment.entry;
    this.#host = host;
    this.#model = model;
    this.#entry = deployment;
    this.#startedAtMs = nowMs;
    this.#isTrial = deployment.state.begin();
  }

  firstByte(): void {
    if (this.#firstByteAtMs !== null || this.#isOver) return;
    this.#firstByteAtMs = this.#host.clock.monotonicMs();
    const wasTrial = this.#isTrial;
    this.#isTrial = false;
    this.#entry.metrics.firstByte(this.#firstByteAtMs - this.#startedAtMs);
    this.#entry.state.firstByte(this.#firstByteAtMs - this.#startedAtMs, wasTrial, this.#firstByteAtMs);
    // The breaker closed, so queued requests can use this deployment.
    if (wasTrial) this.#host.onEnd(this.#model);
  }

  end(outcome: UpstreamOutcome, tokens = 0): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const nowMs = this.#host.clock.monotonicMs();
    const { state, watch, metrics } = this.#entry;
    if (outcome === 'ok') state.produced(tokens, nowMs - (this.#firstByteAtMs ?? this.#startedAtMs), nowMs);
    const streamMs = this.#firstByteAtMs === null ? null : nowMs - this.#firstByteAtMs;
    metrics.end(outcome, nowMs - this.#startedAtMs, streamMs, tokens);
    state.end(outcome, this.#isTrial, nowMs);
    this.#model.callEnded(nowMs - this.#startedAtMs, nowMs);
    if (outcome === 'failed') watch.lookNow();
    this.#host.onEnd(this.#model);
  }
}
