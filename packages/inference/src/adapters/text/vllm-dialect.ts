import type { UpstreamContext } from './text-adapter.ts';
import {
  conversationFields,
  requestedLogprobs,
  messagesForTemplates,
  repetitionPenalty,
  samplingFields,
} from './text-request-fields.ts';
import { usageOf } from './token-counts.ts';
import type { TextDialect } from './text-dialect.ts';

/** vLLM, also used for SGLang: running counts in every event and a salt for the prefix cache. */
export const vllmDialect: TextDialect = {
  cache: 'salted',
  countsWhileRunning: true,
  usageCounts: 'request',
  chatBody(request, facts) {
    const logprobs = requestedLogprobs(request);
    return {
      model: facts.deployment.upstreamModel,
      messages: messagesForTemplates(request),
      max_tokens: facts.maxTokens,
      ...samplingFields(request),
      ...furtherSampling(request),
      ...conversationFields(request),
      logit_bias: request.logit_bias,
      logprobs: logprobs === null ? undefined : true,
      top_logprobs: logprobs === null ? undefined : logprobs.alternatives,
      ...vllmFields(request.stream === true, facts),
    };
  },
  completionBody(request, facts) {
    return {
      model: facts.deployment.upstreamModel,
      prompt: request.prompt,
      max_tokens: facts.maxTokens,
      ...samplingFields(request),
      ...furtherSampling(request),
      logit_bias: request.logit_bias ?? undefined,
      logprobs: request.logprobs ?? undefined,
      echo: request.echo === true ? true : undefined,
      suffix: request.suffix ?? undefined,
      ...vllmFields(request.stream === true, facts),
    };
  },
  /** While a stream runs, `usage` counts the choice of its event. */
  runningCounts: usageOf,
};

function furtherSampling(request: Parameters<typeof repetitionPenalty>[0]) {
  return {
    // 0 means all tokens for one engine and is an error for the other; -1 works for both.
    top_k: request.top_k === 0 ? -1 : request.top_k,
    min_p: request.min_p,
    repetition_penalty: repetitionPenalty(request),
  };
}

function vllmFields(isStream: boolean, { cacheSalt }: UpstreamContext) {
  const running = { include_usage: true, continuous_usage_stats: true };
  return { cache_salt: cacheSalt, ...(isStream ? { stream: true, stream_options: running } : {}) };
}
