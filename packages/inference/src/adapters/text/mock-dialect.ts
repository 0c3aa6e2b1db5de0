import type { TextDialect } from './text-dialect.ts';
import { vllmDialect } from './vllm-dialect.ts';

/** The mock engine uses vLLM's protocol and gets the context length, which a real engine knows. */
export const mockDialect: TextDialect = {
  ...vllmDialect,
  chatBody: (request, facts) => ({
    ...vllmDialect.chatBody(request, facts),
    max_model_len: facts.contextLength ?? undefined,
  }),
  completionBody: (request, facts) => ({
    ...vllmDialect.completionBody(request, facts),
    max_model_len: facts.contextLength ?? undefined,
  }),
};
