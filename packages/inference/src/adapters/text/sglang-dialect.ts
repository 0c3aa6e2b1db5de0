import type { TextDialect } from './text-dialect.ts';
import { vllmDialect } from './vllm-dialect.ts';

/**
 * SGLang takes what vLLM takes. What it sends differs: nulls in every delta, the time in every event; reading copes with
 * both, so nothing here has to.
 */
export const sglangDialect: TextDialect = vllmDialect;
