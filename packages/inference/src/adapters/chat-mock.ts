import type { UpstreamRequest } from './adapter.ts';
import { asList, asObject, asText, parseJson, type JsonObject } from './chat-json.ts';

/**
 * The engine behind test keys. It runs in our own process, costs nothing, and answers the same words to the same request,
 * so that a client's code can be tested without a model. It speaks vLLM's protocol: `chatAdapterOf('mock')` reads it.
 */
export interface MockAnswer {
  readonly status: 200;
  readonly contentType: 'application/json' | 'text/event-stream';
  /** In the order in which they would arrive; one event each in a stream. */
  readonly chunks: readonly Buffer[];
}

const vocabulary =
  'the mill turns while water runs over its wheel and grain becomes flour for bread by the quiet river in morning light'.split(
    ' ',
  );
const shortest = 12;
const spread = 20;

export function answerAsMock({ path, body }: UpstreamRequest): MockAnswer {
  const request = asObject(parseJson(body)) ?? {};
  const isChat = path.endsWith('/chat/completions');
  const prompts = isChat ? [JSON.stringify(request['messages'])] : promptsOf(request['prompt']);
  const perPrompt = typeof request['n'] === 'number' ? request['n'] : 1;
  const answers = prompts.flatMap((prompt, at) =>
    Array.from({ length: perPrompt }, (_, n) => compose(request, prompt, at * perPrompt + n, isChat)),
  );
  const promptTokens = prompts.reduce((sum, prompt) => sum + prompt.split(/\s+/).length, 0);
  const shape = { isChat, model: asText(request['model']) ?? 'mock', promptTokens };
  return request['stream'] === true ? asStream(answers, shape) : asJson(answers, shape);
}

interface Composed {
  readonly index: number;
  readonly tokens: readonly string[];
  readonly toolName: string | null;
  readonly wantsLogprobs: boolean;
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
}

interface Shape {
  readonly isChat: boolean;
  readonly model: string;
  readonly promptTokens: number;
}

function compose(request: JsonObject, prompt: string, index: number, isChat: boolean): Composed {
  const limit = typeof request['max_tokens'] === 'number' ? request['max_tokens'] : shortest;
  const wantsLogprobs = isChat && request['logprobs'] === true;
  const toolName = isChat ? calledTool(request) : null;
  if (toolName !== null) {
    return { index, tokens: ['{}'], toolName, wantsLogprobs: false, finishReason: 'tool_calls' };
  }
  const full = wordsFor(`${prompt}\n${JSON.stringify(request['seed'] ?? null)}\n${index}`, request);
  const { tokens, stopped } = untilStop(full, stopsOf(request['stop']));
  const finishReason = !stopped && tokens.length > limit ? 'length' : 'stop';
  return { index, tokens: tokens.slice(0, limit), toolName: null, wantsLogprobs, finishReason };
}

function promptsOf(prompt: unknown): readonly string[] {
  return typeof prompt === 'string' ? [prompt] : asList(prompt).map((text) => asText(text) ?? '');
}

/** The tool that the request insists on. */
function calledTool(request: JsonObject): string | null {
  const choice = request['tool_choice'];
  const named = asText(asObject(asObject(choice)?.['function'])?.['name']);
  if (named !== null) return named;
  if (choice !== 'required') return null;
  return asText(asObject(asObject(asList(request['tools'])[0])?.['function'])?.['name']);
}

function wordsFor(text: string, request: JsonObject): string[] {
  const format = asText(asObject(request['response_format'])?.['type']);
  if (format === 'json_object' || format === 'json_schema') return ['{"', 'mock', '":', 'true', '}'];
  let state = hashOf(text);
  const count = shortest + (state % spread);
  return Array.from({ length: count }, (_, at) => {
    state = nextOf(state);
    const word = vocabulary[state % vocabulary.length] ?? 'mill';
    if (at === 0) return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
    return at === count - 1 ? ` ${word}.` : ` ${word}`;
  });
}

/** FNV-1a, then Knuth's linear congruence: the same on every machine. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function nextOf(state: number): number {
  return (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 8;
}

function stopsOf(stop: unknown): readonly string[] {
  return typeof stop === 'string' ? [stop] : asList(stop).map((text) => asText(text) ?? '');
}

function untilStop(
  tokens: readonly string[],
  stops: readonly string[],
): { readonly tokens: readonly string[]; readonly stopped: boolean } {
  const text = tokens.join('');
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  if (found.length === 0) return { tokens, stopped: false };
  let left = Math.min(...found);
  const kept: string[] = [];
  for (const token of tokens) {
    if (left <= 0) break;
    kept.push(token.slice(0, left));
    left -= token.length;
  }
  return { tokens: kept, stopped: true };
}

function usage({ promptTokens }: Shape, completion: number) {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completion,
    completion_tokens: completion,
    prompt_tokens_details: { cached_tokens: 0 },
  };
}

const logprobsOf = (tokens: readonly string[]) => ({
  content: tokens.map((token) => ({
    token,
    logprob: 0,
    bytes: [...Buffer.from(token)],
    top_logprobs: [{ token, logprob: 0, bytes: [...Buffer.from(token)] }],
  })),
});

const callOf = (name: string, index: number) => ({
  id: `call_mock_${index}`,
  type: 'function',
  function: { name, arguments: '{}' },
});

function asJson(answers: readonly Composed[], shape: Shape): MockAnswer {
  const choices = answers.map(({ index, tokens, toolName, wantsLogprobs, finishReason }) => {
    const text = tokens.join('');
    const message =
      toolName === null
        ? { role: 'assistant', content: text }
        : { role: 'assistant', content: null, tool_calls: [callOf(toolName, index)] };
    return {
      index,
      ...(shape.isChat ? { message } : { text }),
      logprobs: wantsLogprobs ? logprobsOf(tokens) : null,
      finish_reason: finishReason,
    };
  });
  const total = answers.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const answer = { id: 'mock', model: shape.model, choices, usage: usage(shape, total) };
  return { status: 200, contentType: 'application/json', chunks: [Buffer.from(JSON.stringify(answer))] };
}

function asStream(answers: readonly Composed[], shape: Shape): MockAnswer {
  const events: string[] = [];
  const send = (choices: readonly object[], completion: number): void => {
    const event = { id: 'mock', model: shape.model, choices, usage: usage(shape, completion) };
    events.push(`data: ${JSON.stringify(event)}\n\n`);
  };
  for (const { index, tokens, toolName, wantsLogprobs, finishReason } of answers) {
    if (shape.isChat) send([{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }], 0);
    for (const [at, token] of tokens.entries()) {
      const logprobs = wantsLogprobs ? logprobsOf([token]) : null;
      const delta =
        toolName === null ? { content: token } : { tool_calls: [{ index: 0, ...callOf(toolName, index) }] };
      const part = shape.isChat ? { delta } : { text: token };
      send([{ index, ...part, logprobs, finish_reason: null }], at + 1);
    }
    const last = shape.isChat ? { delta: {} } : { text: '' };
    send([{ index, ...last, finish_reason: finishReason }], tokens.length);
  }
  send(
    [],
    answers.reduce((sum, { tokens }) => sum + tokens.length, 0),
  );
  events.push('data: [DONE]\n\n');
  return { status: 200, contentType: 'text/event-stream', chunks: events.map((event) => Buffer.from(event)) };
}
