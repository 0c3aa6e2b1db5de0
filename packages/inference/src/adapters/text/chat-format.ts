import type { ChatRequest } from '../../wire/chat-request.ts';
import { requestedLogprobs } from './text-request-fields.ts';
import { asCount, asList, asObject, asText, type JsonObject } from './engine-json.ts';

/** Builds responses from the known parts of an engine's choice, so that fields an engine adds never reach clients. */
export interface CompletionFormat {
  readonly whole: string;
  readonly chunk: string;
  /** The content of a streamed choice without its end; null if empty. */
  piece(choice: JsonObject, index: number): string | null;
  /** Whether a streamed choice contains output that the engine had to generate. */
  hasOutput(choice: JsonObject): boolean;
  /** The text of a streamed choice that has only one text; otherwise null. */
  onlyText(choice: JsonObject): OnlyText | null;
  /** JSON before and after the text of a choice that has only text. */
  textPiece(index: number, field: OnlyText['field']): readonly [before: string, after: string];
  end(index: number, reason: string): string;
  /** A choice of a response without streaming. */
  fullChoice(choice: JsonObject, index: number): string;
}

/** A text and the JSON field of the engine that contains it. */
export interface OnlyText {
  readonly field: 'content' | 'reasoning_content' | 'reasoning' | 'text';
  readonly text: string;
}

export function chatCompletionFormat(request: ChatRequest): CompletionFormat {
  const requested = requestedLogprobs(request);
  const logprobsOf = (choice: JsonObject): object | null =>
    requested === null ? null : chatLogprobs(choice['logprobs'], requested.alternatives);
  return {
    whole: 'chat.completion',
    chunk: 'chat.completion.chunk',
    piece(choice, index) {
      const delta = deltaOf(asObject(choice['delta']) ?? {});
      const logprobs = logprobsOf(choice);
      if (delta === null && logprobs === null) return null;
      return JSON.stringify({
        index,
        delta: delta ?? { content: '' },
        ...(logprobs === null ? {} : { logprobs }),
        finish_reason: null,
      });
    },
    hasOutput(choice) {
      const delta = asObject(choice['delta']) ?? {};
      return `${contentOf(delta) ?? ''}${reasoningOf(delta) ?? ''}` !== '' || hasCalls(delta);
    },
    onlyText(choice) {
      const delta = asObject(choice['delta']);
      if (delta === null || isPresent(choice['logprobs']) || isPresent(delta['role'])) return null;
      return hasCalls(delta) ? null : onlyTextOf(delta);
    },
    textPiece(index, field) {
      const name = field === 'content' ? 'content' : 'reasoning_content';
      return [`{"index":${index},"delta":{"${name}":"`, `"},"finish_reason":null}`];
    },
    end: (index, reason) => JSON.stringify({ index, delta: {}, finish_reason: reason }),
    fullChoice(choice, index) {
      const logprobs = logprobsOf(choice);
      return JSON.stringify({
        index,
        message: messageOf(asObject(choice['message']) ?? {}),
        ...(logprobs === null ? {} : { logprobs }),
        finish_reason: asText(choice['finish_reason']) ?? 'stop',
      });
    },
  };
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

const contentOf = (part: JsonObject): string | null => asText(part['content']);

/** Engines use one of the two names, or both during a migration. */
const reasoningOf = (part: JsonObject): string | null =>
  asText(part['reasoning_content']) ?? asText(part['reasoning']);

const hasCalls = (part: JsonObject): boolean => asList(part['tool_calls']).length > 0;

function onlyTextOf(delta: JsonObject): OnlyText | null {
  const found = (['content', 'reasoning_content', 'reasoning'] as const).flatMap((field) => {
    const text = asText(delta[field]);
    return text === null ? [] : [{ field, text }];
  });
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** Content is never null in a delta without tool calls and reasoning. */
function deltaOf(delta: JsonObject): JsonObject | null {
  const isOpening = delta['role'] === 'assistant';
  const content = contentOf(delta);
  const reasoning = reasoningOf(delta);
  const calls = asList(delta['tool_calls']).map(toolCallDelta);
  if (!isOpening && content === null && reasoning === null && calls.length === 0) return null;
  const hasMore = reasoning !== null || calls.length > 0;
  return {
    ...(isOpening ? { role: 'assistant' } : {}),
    ...(hasMore && (content === null || content === '') ? {} : { content: content ?? '' }),
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function toolCallDelta(value: unknown, position: number): JsonObject {
  const call = asObject(value) ?? {};
  const made = asObject(call['function']) ?? {};
  return {
    index: asCount(call['index']) ?? position,
    ...optionalField('id', asText(call['id'])),
    ...(call['type'] === 'function' ? { type: 'function' } : {}),
    function: {
      ...optionalField('name', asText(made['name'])),
      ...optionalField('arguments', asText(made['arguments'])),
    },
  };
}

function optionalField(name: string, value: string | null): JsonObject {
  return value === null ? {} : { [name]: value };
}

/** Content is null only with tool calls. */
function messageOf(message: JsonObject): JsonObject {
  const calls = asList(message['tool_calls']).map(toolCall);
  const content = contentOf(message) ?? '';
  const reasoning = reasoningOf(message) ?? '';
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function toolCall(value: unknown, position: number): JsonObject {
  const call = asObject(value) ?? {};
  const made = asObject(call['function']) ?? {};
  return {
    id: asText(call['id']) ?? `call_${position}`,
    type: 'function',
    function: { name: asText(made['name']) ?? '', arguments: asText(made['arguments']) ?? '' },
  };
}

/** Only as many alternatives as the client requested, in the contract's shape. */
function chatLogprobs(value: unknown, alternatives: number): object | null {
  const logprobs = asObject(value);
  if (logprobs === null) return null;
  const content = asList(logprobs['content']).map((entry) => {
    const token = asObject(entry) ?? {};
    return {
      ...tokenLogprob(token),
      top_logprobs: asList(token['top_logprobs'])
        .slice(0, alternatives)
        .map((other) => tokenLogprob(asObject(other) ?? {})),
    };
  });
  return { content, refusal: null };
}

function tokenLogprob({ token, logprob, bytes }: JsonObject) {
  return { token: asText(token) ?? '', logprob: logprob ?? null, bytes: bytes ?? null };
}
