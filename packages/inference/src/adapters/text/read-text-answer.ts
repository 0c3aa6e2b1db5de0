import { TextEngineError, type AnswerContext, type TokenCounts, type FullAnswer } from './text-adapter.ts';
import { collectStream } from './collect-stream.ts';
import { countsOf, reportableCounts, usageJson, usageOf } from './token-counts.ts';
import type { TextDialect } from './text-dialect.ts';
import { failureInEvent, upstreamError } from './text-failures.ts';
import type { AnswerFormat } from './chat-answer-format.ts';
import { asCount, asList, asObject, asText, parseJson, type JsonObject } from './engine-json.ts';
import type { StreamSettings } from './text-stream.ts';
import { minTokens } from './min-tokens.ts';

export interface ReadAnswerOptions {
  readonly form: AnswerFormat;
  readonly dialect: TextDialect;
  readonly wish: StreamSettings;
  readonly facts: AnswerContext;
}

/** The choices of an answer, whichever way it came, and what they took. */
export interface CollectedAnswer {
  readonly choices: readonly JsonObject[];
  /** Null: the engine did not say. */
  readonly counts: TokenCounts | null;
}

/** An engine's whole answer, told in our name. Throws `TextEngineError` on what is no answer to the request. */
export function readFullAnswer(text: string, { form, dialect, wish, facts }: ReadAnswerOptions): FullAnswer {
  const { choices, counts: counted } = text.startsWith('data:')
    ? collectStream(text, dialect, wish)
    : fromJson(text);
  const byIndex = choices.toSorted((a, b) => indexOf(a) - indexOf(b));
  if (byIndex.length !== wish.choices || byIndex.some((choice, index) => indexOf(choice) !== index)) {
    throw new TextEngineError(
      upstreamError(null, 'The engine answered with other choices than were asked for.'),
    );
  }
  const counts =
    counted === null
      ? countsOf(facts.leastPrompt(), 0, minProducedTokens(byIndex))
      : reportableCounts(counted, dialect.cache);
  return {
    body:
      `{"id":${JSON.stringify(facts.requestId)},"object":"${form.whole}","created":${facts.createdSeconds},` +
      `"model":${JSON.stringify(facts.model)},"choices":[${byIndex.map(form.answer).join()}],` +
      `"usage":${usageJson(counts, facts.costOf(counts))}}`,
    counts,
    finishReason: asText(byIndex.at(-1)?.['finish_reason']),
  };
}

/** A lower bound for engines that send no usage: one token for each choice, or that of its text. */
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

function fromJson(text: string): CollectedAnswer {
  const response = asObject(parseJson(text));
  if (response === null)
    throw new TextEngineError(upstreamError(null, 'The engine answered no JSON object.'));
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
