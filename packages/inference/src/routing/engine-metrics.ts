import type { DeploymentEntry } from '@millrace/core/inference';
import { msToSeconds, ratio } from '@millrace/platform/money';
import { counter, preparedHistogram, type Recorder } from '@millrace/platform/telemetry';
import type { UpstreamOutcome } from './router-types.ts';

const durations = preparedHistogram('gen_ai_server_request_duration_seconds');
const firstTokens = preparedHistogram('gen_ai_server_time_to_first_token_seconds');
const outputTokens = preparedHistogram('gen_ai_server_time_per_output_token_seconds');
const queueTimes = preparedHistogram('millrace_gateway_queue_seconds');
const upstreamErrors = counter('millrace_gateway_upstream_errors_total');

/** Records calls to one deployment, with labels that are prepared once. */
export class EngineMetrics {
  readonly #labels: { readonly gen_ai_request_model: string; readonly gen_ai_provider_name: string };
  readonly #durations: Record<UpstreamOutcome, Recorder>;
  readonly #firstToken: Recorder;
  readonly #outputToken: Recorder;

  constructor(model: string, engine: DeploymentEntry['engine']) {
    const labels = { gen_ai_request_model: model, gen_ai_provider_name: engine };
    const durationOf = (outcome: UpstreamOutcome) => durations.with({ ...labels, error_type: outcome });
    this.#labels = labels;
    this.#durations = {
      ok: durationOf('ok'),
      failed: durationOf('failed'),
      overloaded: durationOf('overloaded'),
      cancelled: durationOf('cancelled'),
    };
    this.#firstToken = firstTokens.with(labels);
    this.#outputToken = outputTokens.with(labels);
  }

  firstByte(afterMs: number): void {
    this.#firstToken.record(msToSeconds(afterMs));
  }

  /** `streamMs`: the time since the first byte; null for responses without streaming. */
  end(outcome: UpstreamOutcome, tookMs: number, streamMs: number | null, tokens: number): void {
    this.#durations[outcome].record(msToSeconds(tookMs));
    if (outcome === 'ok' && streamMs !== null && tokens > 1)
      this.#outputToken.record(ratio(msToSeconds(streamMs), tokens - 1));
    if (outcome === 'failed' || outcome === 'overloaded')
      upstreamErrors.add(1, { ...this.#labels, error_type: outcome });
  }
}

export type QueueOutcome = 'served' | 'refused' | 'left';

export function recordQueueTime(model: string, outcome: QueueOutcome, waitedMs: number): void {
  queueTimes.with({ gen_ai_request_model: model, outcome }).record(msToSeconds(waitedMs));
}
