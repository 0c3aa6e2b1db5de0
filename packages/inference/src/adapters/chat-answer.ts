import { BrokenStream, type AnswerFacts, type Counts, type WholeAnswer } from './adapter.ts';
import { collectStream } from './chat-collect.ts';
import { countsOf, reportableCounts, usageJson, usageOf } from './chat-counts.ts';
import type { Dialect } from './chat-dialect.ts';
import { failureInEvent, upstreamError } from './chat-failures.ts';
import type { AnswerForm } from './chat-form.ts';
import { asCount, asList, asObject, asText, parseJson, type JsonObject } from './chat-json.ts';
import type { StreamWish } from './chat-stream.ts';
import { leastTokens } from './least-tokens.ts';

export interface AnswerParts {
  readonly form: AnswerForm;
  readonly dialect: Dialect;
  readonly wish: StreamWish;
  readonly facts: AnswerFacts;
}

/** The choices of an answer, whichever way it came, and what they took. */
export interface Collected {
  readonly choices: readonly JsonObject[];
  /** Null: the engine did not say. */
  readonly counts: Counts | null;
}

/** An engine's whole answer, told in our name. Throws `BrokenStream` on what is no answer to the request. */
export function readWhole(text: string, { form, dialect, wish, facts }: AnswerParts): WholeAnswer {
  const { choices, counts: counted } = text.startsWith('data:')
    ? collectStream(text, dialect, wish)
    : fromJson(text);
  const byIndex = choices.toSorted((a, b) => indexOf(a) - indexOf(b));
  if (byIndex.length !== wish.choices || byIndex.some((choice, index) => indexOf(choice) !== index)) {
    throw new BrokenStream(
      upstreamError(null, 'The engine answered with other choices than were asked for.'),
    );
  }
  const counts =
    counted === null
      ? countsOf(facts.leastPrompt(), 0, leastProduced(byIndex))
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
function leastProduced(choices: readonly JsonObject[]): number {
  return choices.reduce((tokens, choice) => {
    const message = asObject(choice['message']) ?? {};
    const texts = [choice['text'], message['content'], message['reasoning_content'] ?? message['reasoning']];
    const calls = asList(message['tool_calls']).map((call) =>
      asText(asObject(asObject(call)?.['function'])?.['arguments']),
    );
    const all = [...texts.map(asText), ...calls].join(' ');
    return tokens + Math.max(1, leastTokens(all));
  }, 0);
}

function fromJson(text: string): Collected {
  const answer = asObject(parseJson(text));
  if (answer === null) throw new BrokenStream(upstreamError(null, 'The engine answered no JSON object.'));
  const failure = failureInEvent(answer);
  if (failure !== null) throw new BrokenStream(failure);
  return {
    choices: asList(answer['choices']).map((choice) => asObject(choice) ?? {}),
    counts: usageOf(answer),
  };
}

function indexOf(choice: JsonObject): number {
  return asCount(choice['index']) ?? 0;
}
