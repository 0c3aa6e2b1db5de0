import type { ChatRequest } from '../../wire/chat-request.ts';
import type { CompletionRequest } from '../../wire/completion-request.ts';
import type { UpstreamContext, UpstreamRequest } from './text-adapter.ts';
import type { JsonObject } from './engine-json.ts';

/** Request fields that all engines name alike. `undefined` leaves a field out. */

export function samplingFields(request: ChatRequest | CompletionRequest) {
  return {
    temperature: request.temperature,
    top_p: request.top_p,
    presence_penalty: request.presence_penalty,
    frequency_penalty: request.frequency_penalty,
    stop: request.stop ?? undefined,
    seed: request.seed ?? undefined,
    n: request.n === 1 ? undefined : request.n,
    user: request.user,
  };
}

export function conversationFields(request: ChatRequest) {
  const tools = request.tools === undefined || request.tools.length === 0 ? undefined : request.tools;
  return {
    tools,
    // Engines refuse tool_choice without tools.
    tool_choice: tools === undefined ? undefined : request.tool_choice,
    response_format: request.response_format,
  };
}

/** Templates of open models do not know the developer role, and many fail on it: send it as system. */
export function messagesForTemplates(request: ChatRequest): ChatRequest['messages'] {
  if (!request.messages.some(({ role }) => role === 'developer')) return request.messages;
  return request.messages.map((message) =>
    message.role === 'developer' ? { ...message, role: 'system' } : message,
  );
}

export interface RequestedLogprobs {
  /** Alternatives per token. */
  readonly alternatives: number;
}

/** `logprobs` is a boolean with `top_logprobs`, or the number of alternatives itself. Null: none. */
export function requestedLogprobs(request: ChatRequest): RequestedLogprobs | null {
  const { logprobs, top_logprobs: top } = request;
  if (logprobs === undefined || logprobs === false || logprobs === 0) return null;
  return { alternatives: top ?? (typeof logprobs === 'number' ? logprobs : 0) };
}

/** A penalty of 1 has no effect. */
export function repetitionPenalty(request: ChatRequest | CompletionRequest): number | undefined {
  return request.repetition_penalty === 1 ? undefined : request.repetition_penalty;
}

export function upstreamRequest(path: string, body: JsonObject, facts: UpstreamContext): UpstreamRequest {
  const { apiKey, engine } = facts.deployment;
  return {
    path,
    headers: {
      'content-type': 'application/json',
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify(body),
    // llama-server announces keep-alive but closes the connection after a stream; another request on it would be lost.
    closesConnection: engine === 'llama.cpp' && body['stream'] === true,
  };
}
