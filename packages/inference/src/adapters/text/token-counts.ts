import type { TokenCounts, PromptCache } from './text-adapter.ts';
import { asCount, asObject, type JsonObject } from './engine-json.ts';

export const zeroCounts: TokenCounts = { prompt: 0, cached: 0, completion: 0 };

/** Cached tokens are part of the prompt, whatever an engine reports. */
export function countsOf(prompt: number, cached: number, completion: number): TokenCounts {
  return { prompt, cached: Math.min(cached, prompt), completion };
}

/** The standard `usage` object; null if the event has none. */
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

/** Sums counts per choice. `perPrompt` consecutive choices share a prompt, whose tokens count once. */
export function sumChoices(choices: ReadonlyMap<number, TokenCounts>, perPrompt: number): TokenCounts {
  const prompts = new Map<number, TokenCounts>();
  let completion = 0;
  for (const [index, counts] of choices) {
    completion += counts.completion;
    const first = index - (index % perPrompt);
    const known = prompts.get(first);
    // Only the first choice of a prompt reports what was computed: the others found the prompt cached.
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

export function usageJson(counts: TokenCounts, costNanoUsd: number): string {
  const { prompt, cached, completion } = counts;
  return (
    `{"prompt_tokens":${prompt},"total_tokens":${prompt + completion},"completion_tokens":${completion},` +
    `"prompt_tokens_details":{"cached_tokens":${cached}},"cost_nano_usd":${costNanoUsd}}`
  );
}
