import {
  conversationFields,
  requestedLogprobs,
  repetitionPenalty,
  samplingFields,
} from './text-request-fields.ts';
import type { TextDialect } from './text-dialect.ts';

/** Any OpenAI-compatible server. Non-standard fields are sent if they have an effect: a refusal is better than ignoring them. */
export const openaiDialect: TextDialect = {
  cache: 'shared',
  countsWhileRunning: false,
  usageCounts: 'request',
  chatBody(request, { deployment, maxTokens }) {
    const logprobs = requestedLogprobs(request);
    // Newer models accept only the new name, many servers only the old one: use the client's choice.
    const limit =
      request.max_completion_tokens === undefined
        ? { max_tokens: maxTokens }
        : { max_completion_tokens: maxTokens };
    return {
      model: deployment.upstreamModel,
      messages: request.messages,
      ...limit,
      ...samplingFields(request),
      ...conversationFields(request),
      ...nonStandardFields(request),
      logit_bias: request.logit_bias,
      logprobs: logprobs === null ? undefined : true,
      top_logprobs: logprobs === null ? undefined : logprobs.alternatives,
      ...(request.stream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    };
  },
  completionBody(request, { deployment, maxTokens }) {
    return {
      model: deployment.upstreamModel,
      prompt: request.prompt,
      max_tokens: maxTokens,
      ...samplingFields(request),
      ...nonStandardFields(request),
      logit_bias: request.logit_bias ?? undefined,
      logprobs: request.logprobs ?? undefined,
      echo: request.echo === true ? true : undefined,
      suffix: request.suffix ?? undefined,
      ...(request.stream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    };
  },
  runningCounts: () => null,
};

function nonStandardFields(request: Parameters<typeof repetitionPenalty>[0]) {
  return {
    top_k: request.top_k === undefined || request.top_k <= 0 ? undefined : request.top_k,
    min_p: request.min_p === 0 ? undefined : request.min_p,
    repetition_penalty: repetitionPenalty(request),
  };
}
