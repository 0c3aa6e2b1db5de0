import type { ModelEntry } from '@millrace/core/inference';
import type { FrozenModelPrice } from '@millrace/core/prices';
import type { Reservation } from '@millrace/credit-leases/client';
import { Fault } from '@millrace/platform/fault';
import type { RequestId } from '@millrace/platform/ids';
import { msToSecondsRoundDown } from '@millrace/platform/money';
import type { ServerResponse } from 'node:http';
import {
  TextEngineError,
  type CompletionContext,
  type TextAdapter,
  type TokenCounts,
  type EngineFailure,
  type FullCompletion,
} from '../../adapters/text/text-adapter.ts';
import { hashText, type NoRoute, type RouteRequest, type UpstreamCall } from '../../routing/index.ts';
import { startUnreadTimeout, sendFault, sendJson, sendStreamFault } from '../http/responses.ts';
import type { ResponseHeaders } from '../http/responses.ts';
import type { EngineSlots, SlotClaim } from '../upstream/engine-slots.ts';
import { MeteredRequest } from '../requests/metered-request.ts';
import type { AdmittedRequest, MeasuredUsage, RequestExecution } from '../requests/metered-request.ts';
import type { GatewayDeps } from '../gateway-deps.ts';
import { costOfCounts } from '../requests/pricing.ts';
import { withTraceparent } from '../upstream/upstreams.ts';
import { noRouteFault, upstreamOutcomeOf } from '../upstream/upstream-outcomes.ts';
import { toFault, TextRelay, type RelayListener } from './text-relay.ts';
import type { Caller } from '../http/authenticator.ts';
import type { TextConversation } from '../requests/template-overheads.ts';

/** Serves one metered text request: calls engines until one responds, and relays its response. */

export interface TextExecutionInput<Request> {
  readonly request: Request;
  readonly requestId: RequestId;
  readonly trace: AdmittedRequest['trace'];
  readonly operation: AdmittedRequest['operation'];
  readonly caller: Caller;
  readonly requestedModel: string;
  readonly model: ModelEntry;
  readonly price: FrozenModelPrice;
  readonly reservation: Reservation;
  readonly maxTokens: number;
  readonly choices: number;
  readonly isStream: boolean;
  readonly route: Omit<RouteRequest, 'except'>;
  readonly leastPrompt: (request: Request) => number;
  /** A text-only conversation, whose token count shows the template's overhead. */
  readonly plain: TextConversation | null;
  readonly adapterOf: (engine: UpstreamCall['deployment']['engine']) => TextAdapter<Request> | null;
  readonly response: ServerResponse;
  readonly headers: ResponseHeaders;
}

const noCounts: TokenCounts = { prompt: 0, cached: 0, completion: 0 };

/** Only a hash of the routing prefix is stored, because prompts must not be. */
const hashOf = (prefix: string): string => hashText(prefix, 1_024).toString(36);

class ClientDisconnected extends Error {
  constructor() {
    super('The client disconnected.');
    this.name = 'ClientLeft';
  }
}

export class TextExecution<Request> implements RelayListener, RequestExecution {
  readonly #deps: GatewayDeps;
  readonly #work: TextExecutionInput<Request>;
  readonly #exchange: MeteredRequest;
  readonly #except = new Set<string>();
  #relay: TextRelay<Request> | null = null;
  #call: UpstreamCall | null = null;
  #slot: SlotClaim | null = null;
  #attemptMs = 0;
  #isDone = false;
  /** Why the client gets no more output: it left, or lost access (a `Fault`). It pays for the work done. */
  #left: Error | null = null;
  #waiting: AbortController | null = null;
  #failure: EngineFailure | null = null;

  constructor(deps: GatewayDeps, work: TextExecutionInput<Request>) {
    this.#deps = deps;
    this.#work = work;
    const admitted = {
      requestId: work.requestId,
      caller: work.caller,
      model: work.model.name,
      priceIds: work.price.priceIds,
      reservation: work.reservation,
      streamed: work.isStream,
      trace: work.trace,
      operation: work.operation,
    };
    this.#exchange = new MeteredRequest(deps.exchanges, admitted, this);
    work.response.on('close', () => this.#clientClosed());
    work.response.on('drain', () => this.#clientReads());
  }

  begin(): void {
    // The client might have left during the reservation.
    if (this.#work.response.destroyed) {
      this.#clientClosed();
      return;
    }
    const { model, route } = this.#work;
    const span = this.#work.trace?.child('route');
    const found = this.#deps.router.route(model, { ...route, except: this.#except });
    span?.end();
    if (found.outcome === 'to') this.#callAt(found);
    else if (found.outcome === 'full') void this.#waitForTurn();
    else this.#refuseFor(found);
  }

  onBytes(bytes: string | Buffer): boolean {
    const { response, headers } = this.#work;
    if (!response.headersSent) {
      this.#call?.firstByte();
      this.#exchange.markFirstByte();
      response.writeHead(200, {
        ...headers,
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      });
    }
    const takesMore = response.write(bytes);
    if (!takesMore) startUnreadTimeout(response, this.#deps.limits.unreadMs);
    return takesMore;
  }

  onWhole(response: FullCompletion): void {
    this.#learnTemplate(response.counts);
    this.#endCall('ok', response.counts.completion);
    this.#exchange.markFirstByte();
    this.#finish(response.finishReason);
    if (this.#left !== null) return;
    sendJson(this.#work.response, 200, this.#work.headers, response.body);
    startUnreadTimeout(this.#work.response, this.#deps.limits.unreadMs);
  }

  onStreamEnd(last: string, finishReason: string | null): void {
    if (last !== '') this.onBytes(last);
    this.#learnTemplate(this.#relay?.counts() ?? noCounts);
    this.#endCall('ok', this.#relay?.counts().completion ?? 0);
    this.#finish(finishReason);
    this.#work.response.end();
    startUnreadTimeout(this.#work.response, this.#deps.limits.unreadMs);
  }

  onFailure(failure: EngineFailure, hasStarted: boolean): void {
    // Only the reason: the engine's message can quote the prompt, and attempts are stored.
    this.#endCall(upstreamOutcomeOf(failure), 0, failure.reason);
    this.#deps.log.warn(
      { requestId: this.#work.requestId, status: failure.status, reason: failure.reason, begun: hasStarted },
      'engine request failed',
    );
    if (this.#left !== null) {
      this.#finish('error');
      return;
    }
    if (hasStarted) {
      this.#finish('error');
      sendStreamFault(this.#work.response, toFault(failure), this.#work.requestId);
      return;
    }
    const { limits, router } = this.#deps;
    const mayTryOn = failure.retryable && this.#exchange.attempts < limits.attempts;
    this.#failure = failure;
    if (mayTryOn && router.mayRetry(this.#work.model)) {
      this.#relay = null;
      this.begin();
    } else this.#refuse(toFault(failure));
  }

  #learnTemplate({ prompt }: TokenCounts): void {
    const { plain, request, leastPrompt } = this.#work;
    // A count at the lower bound is our estimate for an engine without usage.
    if (plain !== null && this.#call !== null && prompt > leastPrompt(request)) {
      this.#deps.templates.learn(this.#call.deployment.id, plain, prompt);
    }
  }

  #callAt(call: UpstreamCall): void {
    const { request, requestId, requestedModel, price, isStream, adapterOf } = this.#work;
    const { deployment } = call;
    const adapter = adapterOf(deployment.engine);
    this.#call = call;
    this.#attemptMs = this.#deps.clock.monotonicMs();
    this.#exchange.tries(deployment);
    this.#except.add(deployment.id);
    if (adapter === null) {
      this.onFailure(
        {
          status: null,
          reason: 'UPSTREAM_ERROR',
          message: 'The engine does not support this operation.',
          retryable: true,
        },
        false,
      );
      return;
    }
    const facts: CompletionContext = {
      requestId,
      model: requestedModel,
      createdSeconds: msToSecondsRoundDown(this.#deps.clock.nowMs()),
      costOf: (counts) => Number(this.#charge(costOfCounts(price, counts))),
      leastPrompt: () => this.#work.leastPrompt(request),
    };
    const relay = new TextRelay({
      adapter,
      request,
      facts,
      isStream,
      maxResponseBytes: this.#deps.limits.responseBytes,
      listener: this,
    });
    this.#relay = relay;
    const { slots } = this.#deps;
    if (slots === null || adapter.cache !== 'slots') this.#request(adapter, deployment, relay);
    else void this.#requestInSlot(slots, adapter, deployment, relay);
  }

  #request(
    adapter: TextAdapter<Request>,
    deployment: UpstreamCall['deployment'],
    relay: TextRelay<Request>,
  ): void {
    const { request, maxTokens, caller, model } = this.#work;
    try {
      const { contextLength } = model;
      const facts = { deployment, maxTokens, contextLength, cacheSalt: caller.key.orgId, slot: this.#slot };
      const upstream = withTraceparent(
        adapter.toUpstream(request, facts),
        this.#exchange.upstreamTraceparent,
      );
      this.#deps.upstreams.dispatch(deployment, upstream, relay);
    } catch (error) {
      this.onFailure(this.#toFailure(error), false);
    }
  }

  async #requestInSlot(
    slots: EngineSlots,
    adapter: TextAdapter<Request>,
    deployment: UpstreamCall['deployment'],
    relay: TextRelay<Request>,
  ): Promise<void> {
    const { route, choices } = this.#work;
    try {
      const claimant = { orgId: route.orgId, prefix: hashOf(route.prefix), fillsFurtherSlots: choices > 1 };
      const slot = await slots.claim(deployment, claimant);
      // The client might have left meanwhile.
      if (this.#isDone || this.#relay !== relay) slot.release(false);
      else {
        this.#slot = slot;
        this.#request(adapter, deployment, relay);
      }
    } catch (error) {
      if (!this.#isDone && this.#relay === relay) this.onFailure(this.#toFailure(error), false);
    }
  }

  /** The engine was not called: it would ignore a field, or the call could not be sent. */
  #toFailure(error: unknown): EngineFailure {
    if (error instanceof TextEngineError) return error.failure;
    this.#deps.log.error(
      { err: error, requestId: this.#work.requestId },
      'could not send a request to an engine',
    );
    return {
      status: null,
      reason: 'UPSTREAM_ERROR',
      message: 'The engine could not be called.',
      retryable: true,
    };
  }

  async #waitForTurn(): Promise<void> {
    const { model, route } = this.#work;
    const waiting = new AbortController();
    this.#waiting = waiting;
    try {
      const request = { ...route, except: this.#except };
      const found = await this.#deps.router.waitForTurn(model, request, waiting.signal);
      this.#waiting = null;
      if (found.outcome === 'to' && this.#isDone) found.end('cancelled');
      else if (found.outcome === 'to') this.#callAt(found);
      else this.#refuseFor(found);
    } catch (error) {
      if (!this.#isDone) this.#refuse(error);
    }
  }

  /** The tenant never pays more than the reservation. */
  #charge(nanoUsd: bigint): bigint {
    const reserved = this.#work.reservation.amount;
    return nanoUsd > reserved ? reserved : nanoUsd;
  }

  measure(): MeasuredUsage {
    const counts =
      (this.#left === null ? this.#relay?.counts() : this.#relay?.countsOnDisconnect()) ?? noCounts;
    return { counts, imagePixelSteps: 0, characters: 0, nanoUsd: costOfCounts(this.#work.price, counts) };
  }

  #endCall(outcome: Parameters<UpstreamCall['end']>[0], tokens: number, error: string | null = null): void {
    const call = this.#call;
    if (call === null) return;
    this.#call = null;
    this.#slot?.release(error === null);
    this.#slot = null;
    call.end(outcome, tokens);
    const { clock } = this.#deps;
    const durationMs = Math.round(clock.monotonicMs() - this.#attemptMs);
    this.#exchange.tried({
      deployment: call.deployment.id,
      startedAtMs: clock.nowMs() - durationMs,
      durationMs,
      status: this.#relay?.status ?? null,
      error,
    });
  }

  #finish(finishReason: string | null): void {
    this.#isDone = true;
    const isRevoked = this.#left instanceof Fault;
    this.#exchange.end({
      cancelled: this.#left !== null && !isRevoked,
      finishReason: isRevoked ? 'error' : finishReason,
    });
  }

  /** After an engine failure, report that failure instead of a missing route. */
  #refuseFor(none: NoRoute): void {
    this.#refuse(this.#failure === null ? noRouteFault(none) : toFault(this.#failure));
  }

  #refuse(error: unknown): void {
    if (this.#isDone) return;
    this.#relay = null;
    this.#finish('error');
    sendFault(this.#work.response, error, this.#work.requestId, this.#work.headers);
  }

  #clientReads(): void {
    if (this.#isDone) return;
    this.#work.response.setTimeout(0);
    this.#relay?.resume();
  }

  #clientClosed(): void {
    if (!this.#isDone && this.#left === null) this.#leave(new ClientDisconnected());
  }

  revokeAccess(why: Fault): void {
    if (this.#isDone || this.#left !== null) return;
    this.#leave(why);
    this.#notify(why);
  }

  #leave(why: Error): void {
    this.#left = why;
    // The completion is generated and arrives within moments; reading it gives the exact cost.
    if (this.#relay?.isAnsweringWhole() === true) return;
    this.#stop(why);
    this.#finish(this.#relay?.finishReason() ?? null);
  }

  /** This process ends the request because of its deadline or a shutdown. */
  abort(why: Error): void {
    if (this.#isDone) return;
    this.#stop(why);
    this.#finish('error');
    if (this.#left === null) this.#notify(new Fault('UPSTREAM_TIMEOUT', { internal: why.message }));
  }

  #stop(why: Error): void {
    this.#relay?.stop(why);
    this.#waiting?.abort(why);
    this.#endCall('cancelled', 0, why.message);
  }

  #notify(fault: Fault): void {
    const { response, requestId, headers } = this.#work;
    if (response.headersSent) sendStreamFault(response, fault, requestId);
    else sendFault(response, fault, requestId, headers);
  }
}
