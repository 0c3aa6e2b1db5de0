import type { DoubleBody, ChatSettings, EngineStyle } from './chat-double.ts';
import {
  choicesFor,
  isTooLong,
  logprobsFor,
  countPrompts,
  totalTokens,
  usageFor,
  wantsRunningCounts,
  wantsUsage,
  type DoubleChoice,
} from './style-helpers.ts';

/** SGLang: all fields of a delta and the time in every event; errors without a wrapper. */
export const sglangStyle: EngineStyle = {
  refuse(body, settings) {
    const bad = (message: string) => ({ status: 400, body: failure(400, message) });
    if (isTooLong(body, settings)) {
      return bad(
        `Requested token count exceeds the model's maximum context length of ${settings.contextLength} tokens.`,
      );
    }
    const topK = body['top_k'];
    if (typeof topK === 'number' && (topK < -1 || topK === 0)) {
      return bad(`top_k must be -1 (disable), or at least 1, got ${topK}.`);
    }
    return null;
  },
  events(body, settings, isChat) {
    const choices = choicesFor(body, settings);
    let created = 1_760_000_000;
    const running = (completion: number) =>
      wantsRunningCounts(body) ? usage(settings, completion, null) : null;
    const envelope = (list: readonly object[], counted: object | null) => {
      created += 1;
      return {
        id: '7f3c0a',
        object: isChat ? 'chat.completion.chunk' : 'text_completion',
        created,
        model: body['model'],
        choices: list,
        usage: counted,
      };
    };
    const events = choices.flatMap((choice) =>
      chunksOf(choice, body, isChat).map(([part, completion]) => envelope([part], running(completion))),
    );
    if (!wantsUsage(body)) return events;
    return [...events, envelope([], usage(settings, totalTokens(choices), body))];
  },
  whole(body, settings, isChat) {
    const choices = choicesFor(body, settings);
    return {
      id: '7f3c0a',
      object: isChat ? 'chat.completion' : 'text_completion',
      created: 1_760_000_000,
      model: body['model'],
      choices: choices.map((choice) => wholeChoice(choice, isChat)),
      usage: usage(settings, totalTokens(choices), body),
      metadata: { weight_version: 'default' },
    };
  },
  failure,
  metrics: ({ running, waiting }) =>
    `sglang:num_running_reqs{model_name="m"} ${running}.0\n` +
    `sglang:num_queue_reqs{model_name="m"} ${waiting}.0\n` +
    'sglang:token_usage{model_name="m"} 0.25\n',
};

function failure(status: number, message: string): object {
  return { object: 'error', message, type: 'BadRequestError', param: null, code: status };
}

/** With a body: the tokens of all prompts, and the cached ones. */
function usage(settings: ChatSettings, completion: number, body: DoubleBody | null): object {
  const prompt = settings.promptTokens * (body === null ? 1 : countPrompts(body));
  const counted = usageFor(prompt, completion, null);
  return {
    ...counted,
    prompt_tokens_details: body === null ? null : { cached_tokens: settings.cachedTokens },
    reasoning_tokens: 0,
  };
}

type Part = readonly [part: object, completion: number];

function chunksOf(choice: DoubleChoice, body: DoubleBody, isChat: boolean): readonly Part[] {
  const { index, tokens, toolName, finishReason } = choice;
  const part = (text: object, reason: string | null, logprobs: object | null) => ({
    index,
    ...text,
    logprobs,
    finish_reason: reason,
    matched_stop: reason === 'stop' ? 2 : null,
  });
  const delta = (fields: object) =>
    isChat
      ? { delta: { role: null, content: null, reasoning_content: null, tool_calls: null, ...fields } }
      : { text: '', ...fields };
  const chunks = tokens.map((token, at): Part => {
    const call = { index: 0, id: at === 0 ? 'call_1' : null, type: 'function' };
    const made = { name: at === 0 ? toolName : null, arguments: token };
    const fields = toolName === null ? { content: token } : { tool_calls: [{ ...call, function: made }] };
    return [part(isChat ? delta(fields) : { text: token }, null, logprobsFor(body, token)), at + 1];
  });
  const opening: Part = [part(delta({ role: 'assistant', content: '' }), null, null), 0];
  const ending: Part = [part(delta({}), finishReason, null), tokens.length];
  return [...(isChat ? [opening] : []), ...chunks, ending];
}

function wholeChoice({ index, tokens, toolName, finishReason }: DoubleChoice, isChat: boolean): object {
  const text = tokens.join('');
  const calls =
    toolName === null
      ? null
      : [{ id: 'call_1', index: 0, type: 'function', function: { name: toolName, arguments: text } }];
  const message = {
    role: 'assistant',
    content: toolName === null ? text : null,
    reasoning_content: null,
    tool_calls: calls,
  };
  return {
    index,
    ...(isChat ? { message } : { text }),
    logprobs: null,
    finish_reason: finishReason,
    matched_stop: finishReason === 'stop' ? 2 : null,
  };
}
