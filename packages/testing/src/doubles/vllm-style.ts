import type { DoubleBody, EngineStyle } from './chat-double.ts';
import {
  choicesFor,
  isTooLong,
  logprobsFor,
  usageFor,
  usageOfAll,
  wantsRunningCounts,
  wantsUsage,
  type DoubleChoice,
} from './style-helpers.ts';

/** vLLM: one id for all events, running counts by choice, and the last text with the end of a choice in one event. */
export const vllmStyle: EngineStyle = {
  refuse(body, settings) {
    const bad = (message: string, param: string | null = null) => ({
      status: 400,
      body: { error: { message, type: 'BadRequestError', param, code: 400 } },
    });
    if (isTooLong(body, settings)) {
      return bad(
        `This model's maximum context length is ${settings.contextLength} tokens. However, you requested more.`,
      );
    }
    if (body['stream_options'] !== undefined && body['stream'] !== true) {
      return bad('Stream options can only be defined when `stream=True`.');
    }
    if (body['cache_salt'] === '') return bad("Parameter 'cache_salt' must be a non-empty string.");
    if (Number(body['top_k'] ?? 0) < -1) return bad('top_k must be 0 (disable), or at least 1.', 'top_k');
    if (body['echo'] === true && body['stream'] === true) return bad('echo is not supported here', 'echo');
    return null;
  },
  events(body, settings, isChat) {
    const choices = choicesFor(body, settings);
    const envelope = (list: readonly object[], completion: number) => ({
      id: 'chatcmpl-double',
      object: isChat ? 'chat.completion.chunk' : 'text_completion',
      created: 1_760_000_000,
      model: body['model'],
      choices: list,
      ...(wantsRunningCounts(body) ? { usage: usageFor(settings.promptTokens, completion, null) } : {}),
    });
    const events = choices.flatMap((choice) =>
      chunksOf(choice, body, isChat).map(([part, completion]) => envelope([part], completion)),
    );
    if (!wantsUsage(body)) return events;
    const usage = usageOfAll(settings, body, choices);
    return [...events, { ...envelope([], 0), usage }];
  },
  whole(body, settings, isChat) {
    const choices = choicesFor(body, settings);
    return {
      id: 'chatcmpl-double',
      object: isChat ? 'chat.completion' : 'text_completion',
      created: 1_760_000_000,
      model: body['model'],
      choices: choices.map((choice) => wholeChoice(choice, body, isChat)),
      service_tier: null,
      usage: usageOfAll(settings, body, choices),
      prompt_logprobs: null,
      kv_transfer_params: null,
    };
  },
  failure: (status, message) => ({
    error: { message, type: 'InternalServerError', param: null, code: status },
  }),
  metrics: ({ running, waiting }) =>
    `vllm:num_requests_running{model_name="m"} ${running}.0\n` +
    `vllm:num_requests_waiting{model_name="m"} ${waiting}.0\n` +
    'vllm:kv_cache_usage_perc{model_name="m"} 0.25\n',
};

type Part = readonly [part: object, completion: number];

function chunksOf(choice: DoubleChoice, body: DoubleBody, isChat: boolean): readonly Part[] {
  const { index, tokens, toolName, finishReason } = choice;
  const chunks: Part[] = tokens.map((token, at) => {
    const isLast = at === tokens.length - 1 && finishReason !== 'stop';
    const delta =
      toolName === null
        ? { content: token }
        : {
            tool_calls: [{ index: 0, ...(at === 0 ? named : {}), function: callPart(toolName, token, at) }],
          };
    return [
      {
        index,
        ...(isChat ? { delta } : { text: token }),
        logprobs: logprobsFor(body, token),
        finish_reason: isLast ? finishReason : null,
        ...(isLast ? { stop_reason: null } : {}),
        token_ids: null,
      },
      at + 1,
    ];
  });
  const opening: Part = [
    { index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null },
    0,
  ];
  const empty = isChat ? { delta: { content: '' } } : { text: '' };
  const ending: Part = [
    { index, ...empty, logprobs: null, finish_reason: 'stop', stop_reason: null, token_ids: null },
    tokens.length,
  ];
  return [...(isChat ? [opening] : []), ...chunks, ...(finishReason === 'stop' ? [ending] : [])];
}

const named = { id: 'chatcmpl-tool-1', type: 'function' };

function callPart(name: string, token: string, at: number): object {
  return at === 0 ? { name, arguments: token } : { arguments: token };
}

function wholeChoice(choice: DoubleChoice, body: DoubleBody, isChat: boolean): object {
  const { index, tokens, toolName, finishReason } = choice;
  const text = tokens.join('');
  const calls =
    toolName === null
      ? []
      : [{ id: 'chatcmpl-tool-1', type: 'function', function: { name: toolName, arguments: text } }];
  const message = {
    role: 'assistant',
    content: toolName === null ? text : null,
    refusal: null,
    annotations: null,
    audio: null,
    function_call: null,
    tool_calls: calls,
    reasoning_content: null,
  };
  const content = tokens.flatMap((token) => {
    const one = logprobsFor(body, token) as { readonly content: readonly object[] } | null;
    return one === null ? [] : one.content;
  });
  return {
    index,
    ...(isChat ? { message } : { text }),
    logprobs: content.length > 0 ? { content } : null,
    finish_reason: finishReason,
    stop_reason: null,
  };
}
