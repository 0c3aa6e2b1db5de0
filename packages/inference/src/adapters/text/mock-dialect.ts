import type { TextDialect } from './text-dialect.ts';
import { vllmDialect } from './vllm-dialect.ts';

/** The engine in our own process speaks as vLLM does, and is told the context of the model, which a real engine knows. */
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
