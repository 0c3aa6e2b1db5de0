import { TextEngineError } from './text-adapter.ts';
import type { CompletionContext, TokenCounts, FullCompletion } from './text-adapter.ts';
import { collectStream } from './collect-stream.ts';
import { countsOf, reportableCounts, usageJson, usageOf } from './token-counts.ts';
import type { TextDialect } from './text-dialect.ts';
import { failureInEvent, upstreamError } from './text-failures.ts';
import type { CompletionFormat } from './chat-format.ts';
import { asCount, asList, asObject, asText, parseJson, type JsonObject } from './engine-json.ts';
import type { StreamSettings } from './text-stream.ts';
import { minTokens } from './min-tokens.ts';

export interface ReadCompletionOptions {
  readonly form: CompletionFormat;
  readonly dialect: TextDialect;
  readonly settings: StreamSettings;
  readonly facts: CompletionContext;
}

/** The choices of a response, streamed or not, with their token counts. */
export interface CollectedCompletion {
  readonly choices: readonly JsonObject[];
  /** Null: the engine reported no usage. */
  readonly counts: TokenCounts | null;
}

/** Converts an engine's full response. Throws `TextEngineError` if it does not match the request. */
export function readFullCompletion(
  text: string,
  { form, dialect, settings, facts }: ReadCompletionOptions,
): FullCompletion {
  const { choices, counts: counted } = text.startsWith('data:')
    ? collectStream(text, dialect, settings)
    : fromJson(text);
  const byIndex = choices.toSorted((a, b) => indexOf(a) - indexOf(b));
  if (byIndex.length !== settings.choices || byIndex.some((choice, index) => indexOf(choice) !== index)) {
    throw new TextEngineError(upstreamError(null, 'The engine returned other choices than requested.'));
  }
  const counts =
    counted === null
      ? countsOf(facts.leastPrompt(), 0, minProducedTokens(byIndex))
      : reportableCounts(counted, dialect.cache);
  return {
    body:
      `{"id":${JSON.stringify(facts.requestId)},"object":"${form.whole}","created":${facts.createdSeconds},` +
      `"model":${JSON.stringify(facts.model)},"choices":[${byIndex.map(form.fullChoice).join()}],` +
      `"usage":${usageJson(counts, facts.costOf(counts))}}`,
    counts,
    finishReason: asText(byIndex.at(-1)?.['finish_reason']),
  };
}

/** Lower bound for engines without usage: the minimum tokens of each choice's text, at least one. */
function minProducedTokens(choices: readonly JsonObject[]): number {
  return choices.reduce((tokens, choice) => {
    const message = asObject(choice['message']) ?? {};
    const texts = [choice['text'], message['content'], message['reasoning_content'] ?? message['reasoning']];
    const calls = asList(message['tool_calls']).map((call) =>
      asText(asObject(asObject(call)?.['function'])?.['arguments']),
    );
    const all = [...texts.map(asText), ...calls].join(' ');
    return tokens + Math.max(1, minTokens(all));
  }, 0);
}

function fromJson(text: string): CollectedCompletion {
  const response = asObject(parseJson(text));
  if (response === null)
    throw new TextEngineError(upstreamError(null, 'The engine did not return a JSON object.'));
  const failure = failureInEvent(response);
  if (failure !== null) throw new TextEngineError(failure);
  return {
    choices: asList(response['choices']).map((choice) => asObject(choice) ?? {}),
    counts: usageOf(response),
  };
}

function indexOf(choice: JsonObject): number {
  return asCount(choice['index']) ?? 0;
}
