import type { EngineKind, ModelEntry } from '@millrace/core/inference';
import { Fault, invalidField } from '@millrace/platform/fault';
import type { TextAdapter } from '../../adapters/text/text-adapter.ts';
import type { RouteRequest } from '../../routing/index.ts';
import type { BodyReader } from '../../wire/body-reader.ts';
import type { GenAiOperation } from '../requests/metered-request.ts';
import { requireModel, reserveCredit, modelOrFallback } from '../requests/admission.ts';
import { responseHeaders } from '../http/responses.ts';
import type { GatewayDeps } from '../gateway-deps.ts';
import { affordableTokens, boundTokens, requirePrice } from '../requests/pricing.ts';
import { TextExecution } from './text-execution.ts';
import type { GatewayRequest } from '../http/server.ts';
import type { TextConversation } from '../requests/template-overheads.ts';

/** Serves chat and completion requests up to their reservation. */

export interface TextOperation<Request> {
  readonly name: GenAiOperation;
  readonly modalities: readonly ModelEntry['modality'][];
  /** Throws a `Fault` that names each invalid field. */
  readonly read: BodyReader<Request>;
  modelOf(request: Request): string;
  isStream(request: Request): boolean;
  /** Per choice; null if the client set none. */
  maxTokensOf(request: Request): number | null;
  /** Total over all prompts. */
  choicesOf(request: Request): number;
  promptBound(request: Request): number;
  /** Roles and bytes of a text-only conversation; null if templates add more, or for completions. */
  plainConversation?(request: Request): TextConversation | null;
  /** Lower bound of the tokens of all prompts. */
  leastPrompt(request: Request): number;
  /** Number of prompts. Each can fill the context. */
  promptsOf(request: Request): number;
  /** Requests with equal prefixes go to the deployment that has them cached. */
  prefixOf(request: Request): string;
  needsImages(request: Request): boolean;
  adapterOf(engine: EngineKind): TextAdapter<Request> | null;
}

const routePreferences = new Set<string>(['price', 'latency', 'throughput']);

/** By default requests go to the deployment that has their prompt cached. */
function routePreferenceOf(request: GatewayRequest): RouteRequest['by'] {
  const header = request.request.headers['x-millrace-route'];
  if (header === undefined) return 'affinity';
  if (typeof header === 'string' && routePreferences.has(header)) return header as RouteRequest['by'];
  const issue = { message: 'must be price, latency or throughput', code: 'invalid_value' };
  throw new Fault('VALIDATION_FAILED', {
    issues: [{ path: ['x-millrace-route'], ...issue, location: 'header' }],
  });
}

export async function serveText<Request>(
  deps: GatewayDeps,
  operation: TextOperation<Request>,
  inbound: GatewayRequest,
): Promise<void> {
  const { request, ignored } = operation.read(inbound.body);
  const { caller, requestId } = inbound;
  const requestedModel = operation.modelOf(request);
  const named = requireModel(deps, caller, requestedModel);
  if (!operation.modalities.includes(named.modality)) {
    throw invalidField('model', `is a model for ${named.modality}, which this operation does not support`);
  }
  if (operation.needsImages(request) && !named.inputModalities.includes('image')) {
    throw invalidField('messages', 'contain an image, but this model accepts only text');
  }
  const model = modelOrFallback(
    deps,
    caller,
    named,
    (other) => !operation.needsImages(request) || other.inputModalities.includes('image'),
  );
  const price = requirePrice(model, caller.key.orgId, deps.clock.nowMs());
  const maxTokens = operation.maxTokensOf(request);
  const choices = operation.choicesOf(request);
  const plain = operation.plainConversation?.(request) ?? null;
  const bounds = boundTokens(model, price, {
    promptBound: maxPromptTokensOf(deps, operation, request, model, plain),
    prompts: operation.promptsOf(request),
    maxTokens,
    choices,
  });
  const by = routePreferenceOf(inbound);
  const reservation = await reserveCredit(deps, inbound, model, {
    requestId,
    mostNanoUsd: bounds.worstNanoUsd,
    leastNanoUsd: bounds.leastNanoUsd,
    tokens: bounds.prompt + bounds.maxTokens * choices,
  });
  new TextExecution(deps, {
    request,
    requestId,
    trace: inbound.trace,
    operation: operation.name,
    caller,
    requestedModel,
    model,
    price,
    reservation,
    // Test mode reserves nothing, so the reservation does not limit the length.
    maxTokens:
      reservation.leaseId === null
        ? bounds.maxTokens
        : affordableTokens(price, bounds, choices, reservation.amount),
    isStream: operation.isStream(request),
    route: { orgId: caller.key.orgId, prefix: operation.prefixOf(request), by },
    leastPrompt: operation.leastPrompt,
    plain,
    choices,
    adapterOf: operation.adapterOf,
    response: inbound.response,
    headers: responseHeaders(requestId, reservation.rate, ignored),
  }).begin();
}

/** Uses the learned template overhead if known, otherwise the largest known template. */
function maxPromptTokensOf<Request>(
  { templates }: Pick<GatewayDeps, 'templates'>,
  operation: TextOperation<Request>,
  request: Request,
  model: ModelEntry,
  plain: TextConversation | null,
): number {
  const largest = operation.promptBound(request);
  const added = plain === null ? null : templates.boundFor(model, plain.roles);
  return plain === null || added === null ? largest : Math.min(largest, plain.bytes + added);
}
