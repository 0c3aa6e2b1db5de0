import type { TokenCounts, PromptCache } from './text-adapter.ts';
import { asCount, asObject, type JsonObject } from './engine-json.ts';

export const zeroCounts: TokenCounts = { prompt: 0, cached: 0, completion: 0 };

/** Cached tokens are some of the prompt's, whatever an engine says. */
export function countsOf(prompt: number, cached: number, completion: number): TokenCounts {
  return { prompt, cached: Math.min(cached, prompt), completion };
}

/** The widely used `usage` object; null when the event has none. */
export function usageOf(event: JsonObject): TokenCounts | null {
  const usage = asObject(event['usage']);
  if (usage === null) return null;
  const prompt = asCount(usage['prompt_tokens']);
  const completion = asCount(usage['completion_tokens']);
  if (prompt === null || completion === null) return null;
  const cached = asCount(asObject(usage['prompt_tokens_details'])?.['cached_tokens']);
  return countsOf(prompt, cached ?? 0, completion);
}

/** The counts that a client sees and pays for. Cached tokens of a shared cache would reveal prompts of other organisations. */
export function reportableCounts(counts: TokenCounts, cache: PromptCache): TokenCounts {
  return cache === 'shared' && counts.cached > 0 ? { ...counts, cached: 0 } : counts;
}

/**
 * What was counted choice by choice, as one. Choices of the same prompt share it, so its tokens count once; `perPrompt`
 * choices in a row belong to one prompt.
 */
export function sumChoices(choices: ReadonlyMap<number, TokenCounts>, perPrompt: number): TokenCounts {
  const prompts = new Map<number, TokenCounts>();
  let completion = 0;
  for (const [index, counts] of choices) {
    completion += counts.completion;
    const first = index - (index % perPrompt);
    const known = prompts.get(first);
    // Of several reports on one prompt the first choice's tells how much had to be computed: the others found it ready.
    if (known === undefined || index === first) prompts.set(first, counts);
  }
  let prompt = 0;
  let cached = 0;
  for (const counts of prompts.values()) {
    prompt += counts.prompt;
    cached += counts.cached;
  }
  return countsOf(prompt, cached, completion);
}

/** `usage` as our answers carry it, as JSON text. */
export function usageJson(counts: TokenCounts, costNanoUsd: number): string {
  const { prompt, cached, completion } = counts;
  return (
    `{"prompt_tokens":${prompt},"total_tokens":${prompt + completion},"completion_tokens":${completion},` +
    `"prompt_tokens_details":{"cached_tokens":${cached}},"cost_nano_usd":${costNanoUsd}}`
  );
}
