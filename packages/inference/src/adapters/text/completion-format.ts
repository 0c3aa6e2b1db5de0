import type { CompletionRequest } from '../../wire/completion-request.ts';
import type { CompletionFormat } from './chat-format.ts';
import { asObject, asText, type JsonObject } from './engine-json.ts';

/** Responses of `/v1/completions`: plain text, and logprobs in the engine's shape. */
export function textCompletionFormat(request: CompletionRequest): CompletionFormat {
  const wantsLogprobs = request.logprobs !== undefined && request.logprobs !== null;
  const logprobsOf = (choice: JsonObject): JsonObject | null =>
    wantsLogprobs ? asObject(choice['logprobs']) : null;
  const choiceJson = (choice: JsonObject, index: number, reason: string | null): string =>
    JSON.stringify({
      index,
      text: asText(choice['text']) ?? '',
      logprobs: logprobsOf(choice),
      finish_reason: reason,
    });
  return {
    whole: 'text_completion',
    chunk: 'text_completion',
    piece(choice, index) {
      const isEmpty = asText(choice['text']) === null && logprobsOf(choice) === null;
      return isEmpty ? null : choiceJson(choice, index, null);
    },
    hasOutput: (choice) => (asText(choice['text']) ?? '') !== '',
    textPiece: (index) => [`{"index":${index},"text":"`, `","logprobs":null,"finish_reason":null}`],
    onlyText(choice) {
      const text = asObject(choice['logprobs']) === null ? asText(choice['text']) : null;
      return text === null ? null : { field: 'text', text };
    },
    end: (index, reason) => choiceJson({}, index, reason),
    fullChoice: (choice, index) => choiceJson(choice, index, asText(choice['finish_reason']) ?? 'stop'),
  };
}
