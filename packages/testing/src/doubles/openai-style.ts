import type { DoubleBody, EngineStyle } from './chat-double.ts';
import {
  choicesFor,
  isTooLong,
  logprobsFor,
  usageOfAll,
  wantsUsage,
  type DoubleChoice,
} from './style-helpers.ts';

/** A plain OpenAI server: no running counts, additional fields in every event, and unknown parameters are refused. */
export const openaiStyle: EngineStyle = {
  refuse(body, settings) {
    const unknown = Object.keys(body).find((name) => !known.has(name));
    if (unknown !== undefined) {
      const message = `Unrecognized request argument supplied: ${unknown}`;
      return { status: 400, body: failure(message, unknown, null) };
    }
    if (body['max_tokens'] !== undefined && body['max_completion_tokens'] !== undefined) {
      const message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
      return { status: 400, body: failure(message, 'max_tokens', null) };
    }
    if (isTooLong(body, settings)) {
      const message = `This model's maximum context length is ${settings.contextLength} tokens.`;
      return { status: 400, body: failure(message, 'messages', 'context_length_exceeded') };
    }
    return null;
  },
  events(body, settings, isChat) {
    const choices = choicesFor(body, settings);
    const envelope = (list: readonly object[], usage: object | null) => ({
      id: 'chatcmpl-C0ffee',
      object: isChat ? 'chat.completion.chunk' : 'text_completion',
      created: 1_760_000_000,
      model: `${String(body['model'])}-2025-08-07`,
      service_tier: 'default',
      system_fingerprint: 'fp_double',
      choices: list,
      usage,
      obfuscation: 'x1Y2',
    });
    const events = choices.flatMap((choice) =>
      chunksOf(choice, body, isChat).map((part) => envelope([part], null)),
    );
    if (!wantsUsage(body)) return events;
    return [...events, envelope([], usageOfAll(settings, body, choices))];
  },
  whole(body, settings, isChat) {
    const choices = choicesFor(body, settings);
    return {
      id: 'chatcmpl-C0ffee',
      object: isChat ? 'chat.completion' : 'text_completion',
      created: 1_760_000_000,
      model: `${String(body['model'])}-2025-08-07`,
      choices: choices.map((choice) => wholeChoice(choice, body, isChat)),
      usage: usageOfAll(settings, body, choices),
      service_tier: 'default',
      system_fingerprint: 'fp_double',
    };
  },
  failure: (_status, message) => failure(message, null, 'server_error'),
  metrics: () => '',
};

const known = new Set([
  ...['model', 'messages', 'prompt', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'n'],
  ...['presence_penalty', 'frequency_penalty', 'stop', 'seed', 'user', 'logit_bias', 'logprobs'],
  ...[
    'top_logprobs',
    'tools',
    'tool_choice',
    'response_format',
    'stream',
    'stream_options',
    'echo',
    'suffix',
  ],
]);

function failure(message: string, param: string | null, code: string | null): object {
  return { error: { message, type: 'invalid_request_error', param, code } };
}

function chunksOf(choice: DoubleChoice, body: DoubleBody, isChat: boolean): readonly object[] {
  const { index, tokens, toolName, finishReason } = choice;
  const chunks = tokens.map((token, at) => {
    const named = at === 0 ? { id: 'call_1', type: 'function' } : {};
    const made = at === 0 ? { name: toolName, arguments: token } : { arguments: token };
    const delta =
      toolName === null ? { content: token } : { tool_calls: [{ index: 0, ...named, function: made }] };
    return {
      index,
      ...(isChat ? { delta } : { text: token }),
      logprobs: logprobsFor(body, token),
      finish_reason: null,
    };
  });
  const opening = {
    index,
    delta: { role: 'assistant', content: '', refusal: null },
    logprobs: null,
    finish_reason: null,
  };
  const last = isChat ? { delta: {} } : { text: '' };
  const ending = { index, ...last, logprobs: null, finish_reason: finishReason };
  return [...(isChat ? [opening] : []), ...chunks, ending];
}

function wholeChoice(choice: DoubleChoice, body: DoubleBody, isChat: boolean): object {
  const { index, tokens, toolName, finishReason } = choice;
  const text = tokens.join('');
  const call = { id: 'call_1', type: 'function', function: { name: toolName, arguments: text } };
  const message = {
    role: 'assistant',
    content: toolName === null ? text : null,
    ...(toolName === null ? {} : { tool_calls: [call] }),
    refusal: null,
    annotations: [],
  };
  const content = tokens.flatMap((token) => {
    const one = logprobsFor(body, token) as { readonly content: readonly object[] } | null;
    return one === null ? [] : one.content;
  });
  return {
    index,
    ...(isChat ? { message } : { text }),
    logprobs: content.length > 0 ? { content, refusal: null } : null,
    finish_reason: finishReason,
  };
}
