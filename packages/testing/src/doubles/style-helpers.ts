import type { DoubleBody, ChatSettings } from './chat-double.ts';

/** Shared by the doubles: the length of completions and their usage. */

export interface DoubleChoice {
  readonly index: number;
  readonly tokens: readonly string[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  readonly toolName: string | null;
}

export function choicesFor(body: DoubleBody, { tokens }: ChatSettings): readonly DoubleChoice[] {
  const count = countPrompts(body) * numberOr(body['n'], 1);
  const limit = numberOr(body['max_tokens'] ?? body['max_completion_tokens'], tokens.length + 1);
  const toolName = forcedTool(body);
  return Array.from({ length: count }, (_, index) =>
    toolName === null
      ? {
          index,
          tokens: tokens.slice(0, limit),
          finishReason: limit < tokens.length ? 'length' : 'stop',
          toolName,
        }
      : { index, tokens: ['{"a":', '1}'], finishReason: 'tool_calls', toolName },
  );
}

export function countPrompts(body: DoubleBody): number {
  return Array.isArray(body['prompt']) ? body['prompt'].length : 1;
}

export function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function forcedTool(body: DoubleBody): string | null {
  const choice = body['tool_choice'];
  if (typeof choice !== 'object' || choice === null) return null;
  return (choice as { readonly function: { readonly name: string } }).function.name;
}

export function usageFor(prompt: number, completion: number, cached: number | null) {
  return {
    prompt_tokens: prompt,
    total_tokens: prompt + completion,
    completion_tokens: completion,
    ...(cached === null ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  };
}

export function usageOfAll(settings: ChatSettings, body: DoubleBody, choices: readonly DoubleChoice[]) {
  const prompt = settings.promptTokens * countPrompts(body);
  return usageFor(prompt, totalTokens(choices), settings.cachedTokens);
}

export function totalTokens(choices: readonly DoubleChoice[]): number {
  return choices.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

export function wantsRunningCounts(body: DoubleBody): boolean {
  const options = body['stream_options'] as { readonly continuous_usage_stats?: boolean } | undefined;
  return options?.continuous_usage_stats === true;
}

export function wantsUsage(body: DoubleBody): boolean {
  const options = body['stream_options'] as { readonly include_usage?: boolean } | undefined;
  return options?.include_usage === true;
}

export function logprobsFor(body: DoubleBody, token: string): object | null {
  if (body['logprobs'] !== true) return null;
  const entry = { token, logprob: -0.25, bytes: [...Buffer.from(token)] };
  const top = Array.from({ length: numberOr(body['top_logprobs'], 0) }, () => entry);
  return { content: [{ ...entry, top_logprobs: top }] };
}

/** Whether prompt and completion exceed the context. */
export function isTooLong(body: DoubleBody, { promptTokens, contextLength }: ChatSettings): boolean {
  return promptTokens + numberOr(body['max_tokens'], 0) > contextLength;
}
