import { BrokenStream, type AnswerFacts, type Counts, type WholeAnswer } from './adapter.ts';
import { collectStream } from './chat-collect.ts';
import { countsOf, usageJson, usageOf } from './chat-counts.ts';
import type { Dialect } from './chat-dialect.ts';
import { failureInEvent, upstreamError } from './chat-failures.ts';
import type { AnswerForm } from './chat-form.ts';
import { asCount, asList, asObject, asText, parseJson, type JsonObject } from './chat-json.ts';
import type { StreamWish } from './chat-stream.ts';

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
  const counts = counted ?? countsOf(1, 0, wish.choices);
  return {
    body:
      `{"id":${JSON.stringify(facts.requestId)},"object":"${form.whole}","created":${facts.createdSeconds},` +
      `"model":${JSON.stringify(facts.model)},"choices":[${byIndex.map(form.answer).join()}],` +
      `"usage":${usageJson(counts, facts.costOf(counts))}}`,
    counts,
    finishReason: asText(byIndex.at(-1)?.['finish_reason']),
  };
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
