import type { DeploymentEntry, ModelEntry } from '@millrace/core/inference';
import type { FrozenModelPrice } from '@millrace/core/prices';
import type { Reservation } from '@millrace/credit-leases/client';
import { Fault, invalidField } from '@millrace/platform/fault';
import { msToSecondsRoundDown } from '@millrace/platform/money';
import { MediaEngineError, type SendUpstream } from '../../adapters/media/media-adapter.ts';
import type { EngineFailure } from '../../adapters/text/text-adapter.ts';
import type { UpstreamCall } from '../../routing/index.ts';
import { capableDeployments, canServe, defaultModel, mediaCost } from './media-operation.ts';
import type { MediaOperation, MediaUnits } from './media-operation.ts';
import { requireModel, reserveCredit, modelOrFallback } from '../requests/admission.ts';
import { responseHeaders, startUnreadTimeout, sendFault, type ResponseHeaders } from '../http/responses.ts';
import { MeteredRequest } from '../requests/metered-request.ts';
import type { AdmittedRequest, MeasuredUsage, RequestExecution } from '../requests/metered-request.ts';
import type { GatewayDeps } from '../gateway-deps.ts';
import { requirePrice } from '../requests/pricing.ts';
import { noRouteFault, upstreamOutcomeOf } from '../upstream/upstream-outcomes.ts';
import type { Caller } from '../http/authenticator.ts';
import type { GatewayRequest } from '../http/server.ts';
import { toFault, responseTooLargeFailure } from '../text/text-relay.ts';
import { ResponseTooLarge, withTraceparent } from '../upstream/upstreams.ts';

/** Serves image and speech requests. A client pays for generated output even if it left or lost its key meanwhile. */

const zeroUnits: MediaUnits = { imagePixelSteps: 0, characters: 0 };
const noTokens = { prompt: 0, cached: 0, completion: 0 };

export async function serveMedia<Spec, Output>(
  deps: GatewayDeps,
  operation: MediaOperation<Spec, Output>,
  inbound: GatewayRequest,
): Promise<void> {
  const { request: spec, ignored } = operation.read(inbound.body);
  const { caller, requestId } = inbound;
  const name = operation.modelOf(spec);
  const named =
    name === null ? requireDefaultModel(deps, caller, operation.modality) : requireModel(deps, caller, name);
  if (named.modality !== operation.modality) {
    throw invalidField('model', `is a model for ${named.modality}, which this operation does not support`);
  }
  const model = modelOrFallback(deps, caller, named, (other) => canServe(operation, spec, other.deployments));
  const able = capableDeployments(operation, spec, model.deployments);
  const price = requirePrice(model, caller.key.orgId, deps.clock.nowMs());
  const worst = mediaCost(price, operation.worstCase(spec));
  const amounts = { requestId, mostNanoUsd: worst, leastNanoUsd: worst, tokens: 0 };
  const reservation = await reserveCredit(deps, inbound, model, amounts);
  const headers = responseHeaders(requestId, reservation.rate, ignored);
  const work = { operation, spec, inbound, model, price, reservation, able, headers };
  const execution = new MediaExecution(deps, work);
  try {
    const { contentType, body } = await execution.run();
    // The client left or lost access.
    if (inbound.response.destroyed || inbound.response.headersSent) return;
    const length = Buffer.byteLength(body);
    inbound.response.writeHead(200, { ...headers, 'content-type': contentType, 'content-length': length });
    inbound.response.end(body);
    startUnreadTimeout(inbound.response, deps.limits.unreadMs);
  } catch (error) {
    if (!(error instanceof Fault))
      deps.log.error({ err: error, requestId }, 'request failed with an internal error');
    sendFault(inbound.response, error, requestId, headers);
  }
}

function requireDefaultModel(deps: GatewayDeps, caller: Caller, modality: 'image' | 'audio'): ModelEntry {
  const model = defaultModel(deps.keyFeed.models(caller.key.orgId, caller.key.mode), modality);
  if (model === null) throw new Fault('MODEL_NOT_FOUND');
  return requireModel(deps, caller, model.name);
}

interface MediaExecutionInput<Spec, Output> {
  readonly operation: MediaOperation<Spec, Output>;
  readonly spec: Spec;
  readonly inbound: GatewayRequest;
  readonly model: ModelEntry;
  readonly price: FrozenModelPrice;
  readonly reservation: Reservation;
  readonly able: readonly DeploymentEntry[];
  readonly headers: ResponseHeaders;
}

class MediaExecution<Spec, Output> implements RequestExecution {
  readonly #deps: GatewayDeps;
  readonly #work: MediaExecutionInput<Spec, Output>;
  readonly #exchange: MeteredRequest;
  /** Aborts everything, when this process stops the request. */
  readonly #ending = new AbortController();
  /**
   * Aborts when the client left or lost access (a `Fault`). This ends the wait for an engine, but not the engine's work: it
   * completes the image and keeps its slot until then.
   */
  readonly #leaving = new AbortController();
  readonly #except: Set<string>;
  #made: MediaUnits = zeroUnits;
  #failure: EngineFailure | null = null;

  constructor(deps: GatewayDeps, work: MediaExecutionInput<Spec, Output>) {
    this.#deps = deps;
    this.#work = work;
    const able = new Set(work.able.map(({ id }) => id));
    this.#except = new Set(work.model.deployments.map(({ id }) => id).filter((id) => !able.has(id)));
    const admitted: AdmittedRequest = {
      requestId: work.inbound.requestId,
      caller: work.inbound.caller,
      model: work.model.name,
      priceIds: work.price.priceIds,
      reservation: work.reservation,
      streamed: false,
      trace: work.inbound.trace,
      operation: 'generate_content',
    };
    this.#exchange = new MeteredRequest(deps.exchanges, admitted, this);
    work.inbound.response.on('close', () => this.#leaving.abort(new Error('The client disconnected.')));
    // The client might have left during the reservation.
    if (work.inbound.response.destroyed) this.#leaving.abort(new Error('The client disconnected.'));
  }

  measure(): MeasuredUsage {
    const { price } = this.#work;
    return { ...this.#made, counts: noTokens, nanoUsd: mediaCost(price, this.#made) };
  }

  abort(why: Error): void {
    this.#ending.abort(why);
  }

  revokeAccess(why: Fault): void {
    if (this.#leaving.signal.aborted) return;
    this.#leaving.abort(why);
    const { inbound, headers } = this.#work;
    sendFault(inbound.response, why, inbound.requestId, headers);
  }

  async run() {
    try {
      for (;;) {
        const call = await this.#call();
        try {
          return await this.#draw(call);
        } catch (error) {
          await this.#afterFailure(call, error);
        }
      }
    } finally {
      const isRevoked = this.#leaving.signal.reason instanceof Fault;
      const cancelled = !isRevoked && (this.#leaving.signal.aborted || this.#ending.signal.aborted);
      const finishReason = this.#made === zeroUnits || isRevoked ? 'error' : 'stop';
      this.#exchange.end({ cancelled, finishReason });
    }
  }

  async #call(): Promise<UpstreamCall> {
    const { model, inbound } = this.#work;
    const { router } = this.#deps;
    const signal = AbortSignal.any([this.#leaving.signal, this.#ending.signal]);
    if (signal.aborted) throw abortFault(signal.reason);
    const { orgId } = inbound.caller.key;
    const request = { orgId, prefix: '', by: 'affinity', except: this.#except } as const;
    const first = router.route(model, request);
    const found =
      first.outcome === 'full'
        ? await router.waitForTurn(model, request, signal).catch(throwAbortFault)
        : first;
    // After an engine failure, report that failure instead of a missing route.
    if (found.outcome !== 'to') throw this.#failure === null ? noRouteFault(found) : toFault(this.#failure);
    this.#exchange.tries(found.deployment);
    this.#except.add(found.deployment.id);
    return found;
  }

  async #draw(call: UpstreamCall) {
    const { operation, spec, inbound } = this.#work;
    const { clock } = this.#deps;
    const { deployment } = call;
    const adapter = operation.adapterOf(deployment.engine);
    if (adapter === null) throw new Fault('MODEL_NOT_AVAILABLE');
    const startedMs = clock.monotonicMs();
    const facts = { deployment, requestId: inbound.requestId };
    const response = await adapter.run(spec, facts, this.#callOf(deployment), this.#ending.signal);
    this.#made = operation.made(spec, response);
    this.#exchange.markFirstByte();
    call.end('ok');
    this.#note(call, startedMs, 200, null);
    const elapsedMs = clock.monotonicMs() - this.#exchange.startedMs;
    const createdSeconds = msToSecondsRoundDown(clock.nowMs());
    return operation.render(spec, response, { createdSeconds, elapsedMs });
  }

  #callOf(deployment: DeploymentEntry): SendUpstream {
    const { upstreams, limits } = this.#deps;
    return (request, signal) =>
      upstreams.call(deployment, withTraceparent(request, this.#exchange.upstreamTraceparent), {
        maxBytes: limits.responseBytes,
        signal,
      });
  }

  /** Returns if another engine may be tried; otherwise throws the client's error. */
  async #afterFailure(call: UpstreamCall, error: unknown): Promise<void> {
    if (error instanceof Fault) {
      call.end('cancelled');
      throw error;
    }
    if (this.#ending.signal.aborted) {
      call.end('cancelled');
      throw abortFault(this.#ending.signal.reason);
    }
    const failure = failureIn(error);
    this.#failure = failure;
    call.end(upstreamOutcomeOf(failure));
    // Only the reason: the engine's message can quote the prompt, and attempts are stored.
    this.#note(call, this.#exchange.startedMs, failure.status, failure.reason);
    const { limits, router, log } = this.#deps;
    log.warn(
      { requestId: this.#exchange.requestId, status: failure.status, reason: failure.reason },
      'engine request failed',
    );
    const isWanted = !this.#leaving.signal.aborted;
    const mayTryOn = isWanted && failure.retryable && this.#exchange.attempts < limits.attempts;
    if (!mayTryOn || !router.mayRetry(this.#work.model)) throw toFault(failure);
  }

  #note(call: UpstreamCall, startedMs: number, status: number | null, error: string | null): void {
    const { clock } = this.#deps;
    const durationMs = Math.round(clock.monotonicMs() - startedMs);
    const startedAtMs = clock.nowMs() - durationMs;
    this.#exchange.tried({ deployment: call.deployment.id, startedAtMs, durationMs, status, error });
  }
}

/** The client sees the fault only if this process ended the request. */
function abortFault(cause: unknown): Fault {
  return cause instanceof Fault ? cause : new Fault('UPSTREAM_TIMEOUT', { cause });
}

function throwAbortFault(cause: unknown): never {
  throw abortFault(cause);
}

function failureIn(error: unknown): EngineFailure {
  if (error instanceof MediaEngineError) return error.failure;
  if (error instanceof ResponseTooLarge) return responseTooLargeFailure;
  const message = error instanceof Error ? error.message : String(error);
  return { status: null, reason: 'UPSTREAM_ERROR', message, retryable: true };
}
