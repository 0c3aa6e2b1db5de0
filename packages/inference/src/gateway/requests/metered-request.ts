import type { UsageAttempt, UsageEvent } from '@millrace/core/inference';
import type { Reservation } from '@millrace/credit-leases/client';
import type { Clock } from '@millrace/platform/clock';
import type { Fault } from '@millrace/platform/fault';
import type { RequestId } from '@millrace/platform/ids';
import type { TokenCounts } from '../../adapters/text/text-adapter.ts';
import type { UsageReporter } from '../../usage/index.ts';
import type { Caller } from '../http/authenticator.ts';
import type { InFlightSet, InFlightEntry } from '../http/in-flight-set.ts';
import type { PendingSettlements } from './pending-settlements.ts';

/** One admitted request, from its reservation to its usage event. It ends exactly once, whatever happens to it. */

export interface ReservationSettler {
  settle(reservation: Reservation, actual: bigint, tokens: number): Promise<void>;
}

export interface MeteredRequestDeps {
  readonly clock: Clock;
  readonly reporter: Pick<UsageReporter, 'report' | 'checkpoint'>;
  readonly settler: ReservationSettler;
  readonly settlements: Pick<PendingSettlements, 'started' | 'ended'>;
  /** All that run here: for drains, deadlines and checkpoints. */
  readonly running: InFlightSet<MeteredRequest>;
}

/** What is used, in whatever the model is sold by, and what that costs. */
export interface MeasuredUsage {
  readonly counts: TokenCounts;
  readonly imagePixelSteps: number;
  readonly characters: number;
  readonly nanoUsd: bigint;
}

export interface AdmittedRequest {
  readonly requestId: RequestId;
  readonly caller: Caller;
  /** As the catalog has it. */
  readonly model: string;
  readonly priceIds: readonly string[];
  readonly reservation: Reservation;
  readonly streamed: boolean;
}

/**
 * Whoever serves the request. Not two functions made for each: V8 makes a function that is assigned to a property in the old
 * space right away, and what it reaches, which is all of the request, then waits for the long collections.
 */
export interface RequestExecution {
  /** What was used so far. */
  measure(): MeasuredUsage;
  /** Ends the attempt under way, if there is one. */
  abort(why: Error): void;
  /**
   * The caller may no longer have the answer: its key was revoked or has expired, or its organisation is suspended. It gets the
   * error and pays like a client that leaves; otherwise tenants could revoke keys to get free work. A second call does nothing.
   */
  revokeAccess(why: Fault): void;
}

export interface RequestEnd {
  readonly cancelled: boolean;
  readonly finishReason: string | null;
}

const maxErrorLength = 200;
/** Engines say why they ended, in a word of their own. */
const maxReasonLength = 100;
const maxAttempts = 10;

export class MeteredRequest {
  readonly requestId: RequestId;
  readonly startedMs: number;
  readonly #deps: MeteredRequestDeps;
  readonly #admitted: AdmittedRequest;
  /** Null once it is over: until the stream has stored the event, which may take long, nothing else stays in memory. */
  #session: RequestExecution | null;
  readonly #createdAtMs: number;
  readonly #attempts: UsageAttempt[] = [];
  readonly #entry: InFlightEntry<MeteredRequest>;
  #deployment: string | null = null;
  #firstByteMs: number | null = null;
  checkpointedMs: number;

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

  /** Something that the client can use has gone out. */
  markFirstByte(): void {
    this.#firstByteMs ??= this.#deps.clock.monotonicMs();
  }

  /** Where it runs now. */
  tries(deployment: string): void {
    this.#deployment = deployment;
  }

  tried(attempt: UsageAttempt): void {
    if (this.#attempts.length >= maxAttempts) return;
    this.#attempts.push({ ...attempt, error: attempt.error?.slice(0, maxErrorLength) ?? null });
  }

  abort(why: Error): void {
    this.#session?.abort(why);
  }

  revokeAccess(why: Fault): void {
    this.#session?.revokeAccess(why);
  }

  /** What counts if this process dies now. */
  checkpoint(): void {
    if (this.#session === null) return;
    this.checkpointedMs = this.#deps.clock.monotonicMs();
    const used = this.#session.measure();
    this.#deps.reporter.checkpoint(this.#event('checkpoint', used, { cancelled: false, finishReason: null }));
  }

  /** Reports, and once the report is stored gives the rest of the money back. Only the first call counts. */
  end(ending: RequestEnd): void {
    const session = this.#session;
    if (session === null) return;
    this.#session = null;
    const { reporter, settler, running, settlements } = this.#deps;
    const { reservation } = this.#admitted;
    const { orgId } = reservation;
    const entry = this.#entry;
    const event = this.#event('final', session.measure(), ending);
    settlements.started(orgId);
    reporter.report(event, () => {
      running.leave(entry);
      const tokens = event.tokensPrompt + event.tokensCompletion;
      const settled = settler.settle(reservation, BigInt(event.amountNanoUsd), tokens);
      void settled.finally(() => settlements.ended(orgId));
    });
  }

  #event(kind: UsageEvent['kind'], used: MeasuredUsage, ending: RequestEnd): UsageEvent {
    const { caller, reservation, model, priceIds, streamed } = this.#admitted;
    const reserved = reservation.amount;
    // Test mode has no price, and so nothing that anybody could owe.
    const priced = reservation.leaseId === null ? 0n : used.nanoUsd;
    // An engine that did more than it was told to is the operator's affair.
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
