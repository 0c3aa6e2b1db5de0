import type { TextDialect } from './text-dialect.ts';
import { vllmDialect } from './vllm-dialect.ts';

/** SGLang accepts vLLM's requests. Its events differ (nulls in deltas, a time in each event), which the reader tolerates. */
export const sglangDialect: TextDialect = vllmDialect;
