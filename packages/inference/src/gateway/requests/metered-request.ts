import type { DeploymentEntry, UsageAttempt, UsageEvent } from '@millrace/core/inference';
import type { Reservation } from '@millrace/credit-leases/client';
import type { Clock } from '@millrace/platform/clock';
import type { Fault } from '@millrace/platform/fault';
import type { RequestId } from '@millrace/platform/ids';
import type { RecordedSpan } from '@millrace/platform/telemetry';
import type { TokenCounts } from '../../adapters/text/text-adapter.ts';
import type { UsageReporter } from '../../usage/index.ts';
import type { Caller } from '../http/authenticator.ts';
import type { InFlightSet, InFlightEntry } from '../http/in-flight-set.ts';
import { recordTokens } from './token-metrics.ts';
import type { PendingSettlements } from './pending-settlements.ts';

/** One admitted request from its reservation to its usage event. It ends exactly once. */

export interface ReservationSettler {
  settle(reservation: Reservation, actual: bigint, tokens: number): Promise<void>;
}

export interface MeteredRequestDeps {
  readonly clock: Clock;
  readonly reporter: Pick<UsageReporter, 'report' | 'checkpoint'>;
  readonly settler: ReservationSettler;
  readonly settlements: Pick<PendingSettlements, 'started' | 'ended'>;
  /** All running requests, for drains, deadlines and checkpoints. */
  readonly running: InFlightSet<MeteredRequest>;
}

/** Usage in the model's units and its price. */
export interface MeasuredUsage {
  readonly counts: TokenCounts;
  readonly imagePixelSteps: number;
  readonly characters: number;
  readonly nanoUsd: bigint;
}

export interface AdmittedRequest {
  readonly requestId: RequestId;
  readonly caller: Caller;
  readonly model: string;
  readonly priceIds: readonly string[];
  readonly reservation: Reservation;
  readonly streamed: boolean;
  /** Null if the request is not sampled. */
  readonly trace: RecordedSpan | null;
  readonly operation: GenAiOperation;
}

/** `gen_ai.operation.name` of OpenTelemetry. */
export type GenAiOperation = 'chat' | 'text_completion' | 'generate_content';

/**
 * Serves one metered request. An interface and not two closures: V8 allocates a function that is assigned to a property in the
 * old generation, and everything that it references, the whole request, then waits for a full collection.
 */
export interface RequestExecution {
  /** Usage so far. */
  measure(): MeasuredUsage;
  /** Ends the current upstream call, if any. */
  abort(why: Error): void;
  /**
   * The caller lost access: its key was revoked or expired, or its organisation was suspended. It gets the error and pays like a
   * client that leaves, because otherwise tenants could revoke keys to get free work. Idempotent.
   */
  revokeAccess(why: Fault): void;
}

export interface RequestEnd {
  readonly cancelled: boolean;
  readonly finishReason: string | null;
}

const maxErrorLength = 200;
/** Engines choose their own finish reasons. */
const maxReasonLength = 100;
const maxAttempts = 10;

export class MeteredRequest {
  readonly requestId: RequestId;
  readonly startedMs: number;
  readonly #deps: MeteredRequestDeps;
  readonly #admitted: AdmittedRequest;
  /** Null once the request ended, so that nothing else stays in memory until the stream has stored the event. */
  #session: RequestExecution | null;
  readonly #createdAtMs: number;
  readonly #attempts: UsageAttempt[] = [];
  readonly #entry: InFlightEntry<MeteredRequest>;
  #deployment: string | null = null;
  #firstByteMs: number | null = null;
  checkpointedMs: number;
  /** The upstream call in progress, if the request is sampled. */
  #upstream: RecordedSpan | null = null;

  constructor(deps: MeteredRequestDeps, admitted: AdmittedRequest, session: RequestExecution) {
    this.#deps = deps;
    this.#admitted = admitted;
    this.#session = session;
    this.requestId = admitted.requestId;
    this.#createdAtMs = deps.clock.nowMs();
    this.startedMs = deps.clock.monotonicMs();
    this.checkpointedMs = this.startedMs;
    this.#entry = deps.running.add(this);
  }

  get isOver(): boolean {
    return this.#session === null;
  }

  get caller(): Caller {
    return this.#admitted.caller;
  }

  get attempts(): number {
    return this.#attempts.length;
  }

  /** Output was sent to the client. */
  markFirstByte(): void {
    if (this.#firstByteMs !== null) return;
    this.#firstByteMs = this.#deps.clock.monotonicMs();
    (this.#upstream ?? this.#admitted.trace)?.event('first token');
  }

  /** Sent to the engine, so that its spans join the trace. Undefined if the request is not sampled. */
  get upstreamTraceparent(): string | undefined {
    return this.#upstream?.traceparent;
  }

  tries({ id, engine }: Pick<DeploymentEntry, 'id' | 'engine'>): void {
    this.#deployment = id;
    const { trace, operation, model } = this.#admitted;
    if (trace === null) return;
    const attributes = {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': engine,
      'gen_ai.request.model': model,
      'millrace.deployment': id,
    };
    this.#upstream = trace.child(`${operation} ${model}`, { kind: 'client', attributes });
  }

  tried(attempt: UsageAttempt): void {
    if (attempt.status !== null) this.#upstream?.set({ 'http.response.status_code': attempt.status });
    // Only the reason: messages of engines can quote the prompt.
    this.#upstream?.end(attempt.error === null ? null : 'engine failure');
    this.#upstream = null;
    if (this.#attempts.length >= maxAttempts) return;
    this.#attempts.push({ ...attempt, error: attempt.error?.slice(0, maxErrorLength) ?? null });
  }

  abort(why: Error): void {
    this.#session?.abort(why);
  }

  revokeAccess(why: Fault): void {
    this.#session?.revokeAccess(why);
  }

  /** Reports the usage that is charged if this process dies now. */
  checkpoint(): void {
    if (this.#session === null) return;
    this.checkpointedMs = this.#deps.clock.monotonicMs();
    const used = this.#session.measure();
    this.#deps.reporter.checkpoint(this.#event('checkpoint', used, { cancelled: false, finishReason: null }));
  }

  /** Reports usage and, once that is stored, settles the reservation. Only the first call counts. */
  end(ending: RequestEnd): void {
    const session = this.#session;
    if (session === null) return;
    this.#session = null;
    const { reporter, settler, running, settlements } = this.#deps;
    const { reservation } = this.#admitted;
    const { orgId } = reservation;
    const entry = this.#entry;
    const event = this.#event('final', session.measure(), ending);
    recordTokens(event);
    settlements.started(orgId);
    const publishing = this.#tracePublishing(event);
    const stored = (): void => {
      publishing?.end();
      running.leave(entry);
      const tokens = event.tokensPrompt + event.tokensCompletion;
      const settled = settler.settle(reservation, BigInt(event.amountNanoUsd), tokens);
      void settled.finally(() => settlements.ended(orgId));
    };
    reporter.report(event, stored, publishing?.traceparent);
  }

  #tracePublishing(event: UsageEvent): RecordedSpan | undefined {
    const { trace } = this.#admitted;
    if (trace === null) return undefined;
    trace.set({
      'gen_ai.request.model': event.model,
      'gen_ai.usage.input_tokens': event.tokensPrompt,
      'gen_ai.usage.output_tokens': event.tokensCompletion,
      'millrace.cancelled': event.cancelled,
    });
    const attributes = { 'messaging.system': 'nats', 'messaging.operation.type': 'send' } as const;
    return trace.child('publish usage', { kind: 'producer', attributes });
  }

  #event(kind: UsageEvent['kind'], used: MeasuredUsage, ending: RequestEnd): UsageEvent {
    const { caller, reservation, model, priceIds, streamed } = this.#admitted;
    const reserved = reservation.amount;
    // Test mode has no price, so nothing can be owed.
    const priced = reservation.leaseId === null ? 0n : used.nanoUsd;
    // The operator absorbs output beyond the limit that the engine got.
    const amount = priced > reserved ? reserved : priced;
    const nowMs = this.#deps.clock.monotonicMs();
    return {
      kind,
      requestId: this.requestId,
      orgId: caller.key.orgId,
      mode: caller.key.mode,
      keyId: caller.key.keyId,
      leaseId: reservation.leaseId,
      gatewayId: reservation.gatewayId,
      budgetIds: [...reservation.budgets],
      reservedNanoUsd: reserved.toString(),
      amountNanoUsd: amount.toString(),
      pricedNanoUsd: priced.toString(),
      priceIds: [...priceIds],
      model,
      deployment: this.#deployment,
      createdAtMs: this.#createdAtMs,
      streamed,
      cancelled: ending.cancelled,
      finishReason: ending.finishReason?.slice(0, maxReasonLength) ?? null,
      latencyMs: Math.round(nowMs - this.startedMs),
      ttftMs: this.#firstByteMs === null ? null : Math.round(this.#firstByteMs - this.startedMs),
      generationMs: this.#firstByteMs === null ? null : Math.round(nowMs - this.#firstByteMs),
      tokensPrompt: used.counts.prompt,
      tokensCached: Math.min(used.counts.cached, used.counts.prompt),
      tokensCompletion: used.counts.completion,
      imagePixelSteps: used.imagePixelSteps,
      characters: used.characters,
      attempts: this.#attempts,
    };
  }
}
