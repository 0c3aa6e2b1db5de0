import type { ChatRequest } from '../../wire/chat-request.ts';
import type { CompletionRequest } from '../../wire/completion-request.ts';
import { TextEngineError, type TokenCounts, type UpstreamContext } from './text-adapter.ts';
import {
  conversationFields,
  requestedLogprobs,
  messagesForTemplates,
  repetitionPenalty,
  samplingFields,
} from './text-request-fields.ts';
import { countsOf, usageOf } from './token-counts.ts';
import type { TextDialect } from './text-dialect.ts';
import { unsupportedParameter } from './text-failures.ts';
import { asCount, asObject, type JsonObject } from './engine-json.ts';

/** llama-server. Its `usage` counts one choice, so several choices are always streamed, which reports usage per choice. */
export const llamaDialect: TextDialect = {
  cache: 'slots',
  countsWhileRunning: true,
  usageCounts: 'choice',
  chatBody(request, { deployment, maxTokens, slot }) {
    const logprobs = requestedLogprobs(request);
    return {
      model: deployment.upstreamModel,
      messages: messagesForTemplates(request),
      max_tokens: maxTokens,
      ...samplingFields(request),
      ...furtherSampling(request),
      ...conversationFields(request),
      logit_bias: request.logit_bias,
      // The default is twenty alternatives, and 0 returns no logprobs: request one and drop it.
      logprobs: logprobs === null ? undefined : true,
      top_logprobs: logprobs === null ? undefined : Math.max(1, logprobs.alternatives),
      ...cacheFields(slot),
      ...streamFields(request.stream === true, (request.n ?? 1) > 1),
    };
  },
  completionBody(request, { deployment, maxTokens, slot }) {
    rejectIgnoredFields(request);
    const several = (request.n ?? 1) > 1 || Array.isArray(request.prompt);
    return {
      model: deployment.upstreamModel,
      prompt: request.prompt,
      max_tokens: maxTokens,
      ...samplingFields(request),
      ...furtherSampling(request),
      logit_bias: request.logit_bias ?? undefined,
      logprobs: request.logprobs ?? undefined,
      ...cacheFields(slot),
      ...streamFields(request.stream === true, several),
    };
  },
  runningCounts: (event) => timingsOf(event) ?? usageOf(event),
};

/** The cache has no salt, so prompts are reused only in a slot of the same organisation. */
function cacheFields(slot: UpstreamContext['slot']) {
  return slot === undefined || slot === null
    ? { cache_prompt: false }
    : { id_slot: slot.id, cache_prompt: slot.reuse };
}

/** llama-server would silently ignore these fields. */
function rejectIgnoredFields(request: CompletionRequest): void {
  const ignored = request.echo === true ? 'echo' : request.suffix === undefined ? null : 'suffix';
  if (ignored !== null) throw new TextEngineError(unsupportedParameter(ignored));
}

function furtherSampling(request: ChatRequest | CompletionRequest) {
  const penalty = repetitionPenalty(request);
  return {
    top_k: request.top_k,
    min_p: request.min_p,
    seed: foldedSeed(request.seed ?? undefined),
    // llama-server ignores `repetition_penalty` silently, and looks back over 64 tokens where other engines use all.
    ...(penalty === undefined ? {} : { repeat_penalty: penalty, repeat_last_n: penaltyWindowTokens }),
  };
}

/** llama-server allocates memory for each token of the window. */
const penaltyWindowTokens = 16_384;

const seedRange = 2 ** 32;
const randomSeedValue = seedRange - 1;

/** Seeds have 32 bits there and the highest means random, so it is mapped to a reproducible one. */
function foldedSeed(seed: number | undefined): number | undefined {
  if (seed === undefined) return undefined;
  const folded = ((seed % seedRange) + seedRange) % seedRange;
  return folded === randomSeedValue ? 0 : folded;
}

/** Streams that are collected here skip running counts, which would be most of their bytes. */
function streamFields(isStream: boolean, hasSeveral: boolean) {
  if (!isStream && !hasSeveral) return {};
  const counts = isStream ? { timings_per_token: true } : {};
  return { stream: true, stream_options: { include_usage: true }, ...counts };
}

function timingsOf(event: JsonObject): TokenCounts | null {
  const timings = asObject(event['timings']);
  const computed = asCount(timings?.['prompt_n']);
  const completion = asCount(timings?.['predicted_n']);
  if (timings === null || computed === null || completion === null) return null;
  const cached = asCount(timings['cache_n']) ?? 0;
  return countsOf(computed + cached, cached, completion);
}
