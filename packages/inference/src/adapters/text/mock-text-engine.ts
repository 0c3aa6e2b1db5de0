import type { UpstreamRequest } from './text-adapter.ts';
import { asList, asObject, asText, parseJson, type JsonObject } from './engine-json.ts';
import { UnsupportedSchemaError, valueForSchema } from './json-schema-value.ts';

/** In-process engine behind test keys: free, deterministic and with vLLM's protocol, to test clients without a model. */
export interface MockResponse {
  readonly status: 200 | 400;
  readonly contentType: 'application/json' | 'text/event-stream';
  /** In order of arrival; one event each in a stream. */
  readonly chunks: readonly Buffer[];
}

const opening = 'This answer comes from a mock, not from a model.';
const facts = [
  'The same request gets the same answer.',
  'Its tokens are counted as those of a model would be.',
  'It obeys max_tokens, stop and response_format.',
  'It does not read the prompt, it only counts it.',
];
const referenceBound = 1_000_000;

export function mockResponseTo({ path, body }: UpstreamRequest): MockResponse {
  const request = asObject(parseJson(body)) ?? {};
  const isChat = path.endsWith('/chat/completions');
  const prompts = isChat ? [JSON.stringify(request['messages'])] : promptsOf(request['prompt']);
  const counts = prompts.map((prompt) => (isChat ? chatTokens(request['messages']) : tokensOf(prompt)));
  const context = typeof request['max_model_len'] === 'number' ? request['max_model_len'] : Infinity;
  if (counts.some((count) => count >= context)) {
    return refuse(`The maximum context length of this model is ${context} tokens.`, 'messages');
  }
  const perPrompt = typeof request['n'] === 'number' ? request['n'] : 1;
  try {
    const responses = prompts.flatMap((prompt, at) => {
      const room = context - (counts[at] ?? 0);
      return Array.from({ length: perPrompt }, (_, n) =>
        mockChoice(request, { prompt, index: at * perPrompt + n, room, isChat }),
      );
    });
    const promptTokens = counts.reduce((sum, count) => sum + count, 0);
    const shape = { isChat, model: asText(request['model']) ?? 'mock', promptTokens };
    return request['stream'] === true ? asStream(responses, shape) : asJson(responses, shape);
  } catch (error) {
    if (error instanceof UnsupportedSchemaError) return refuse(error.message, 'response_format');
    throw error;
  }
}

/** Refuses in vLLM's format. */
function refuse(message: string, param: string): MockResponse {
  const body = { error: { message, type: 'BadRequestError', param, code: 400 } };
  return { status: 400, contentType: 'application/json', chunks: [Buffer.from(JSON.stringify(body))] };
}

/** About four bytes per token, typical for English. */
const tokensOf = (text: string): number => (Buffer.byteLength(text) + 3) >>> 2;

/** Tokens that a chat template adds per message. */
const messageTokens = 4;

function chatTokens(messages: unknown): number {
  let tokens = 0;
  for (const message of asList(messages)) {
    const { content, tool_calls: calls } = asObject(message) ?? {};
    const text = typeof content === 'string' ? content : JSON.stringify(content ?? '');
    tokens += messageTokens + tokensOf(text) + (calls === undefined ? 0 : tokensOf(JSON.stringify(calls)));
  }
  return tokens;
}

interface MockChoice {
  readonly index: number;
  readonly tokens: readonly string[];
  readonly toolName: string | null;
  readonly wantsLogprobs: boolean;
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
}

interface MockResponseOptions {
  readonly isChat: boolean;
  readonly model: string;
  readonly promptTokens: number;
}

interface MockPrompt {
  readonly prompt: string;
  readonly index: number;
  /** Tokens left in the context. */
  readonly room: number;
  readonly isChat: boolean;
}

function mockChoice(request: JsonObject, { prompt, index, room, isChat }: MockPrompt): MockChoice {
  const requested = typeof request['max_tokens'] === 'number' ? request['max_tokens'] : Infinity;
  const limit = Math.min(requested, room);
  const wantsLogprobs = isChat && request['logprobs'] === true;
  const tool = isChat ? calledTool(request) : null;
  if (tool !== null) {
    const { name: toolName, parameters } = tool;
    const written = parameters === undefined ? '{}' : jsonFor(parameters).text;
    return { index, tokens: [written], toolName, wantsLogprobs: false, finishReason: 'tool_calls' };
  }
  const full = wordsFor(`${prompt}\n${JSON.stringify(request['seed'] ?? null)}\n${index}`, request);
  const tokens = untilStop(full, stopsOf(request['stop']));
  const finishReason = tokens.length > limit ? 'length' : 'stop';
  return { index, tokens: tokens.slice(0, limit), toolName: null, wantsLogprobs, finishReason };
}

interface MockJson {
  readonly text: string;
  readonly pieces: readonly string[];
}

/** All choices of a request share their JSON, which is built once per schema object. */
const jsonCache = new WeakMap<object, MockJson>();

function jsonFor(schema: unknown): MockJson {
  const object = asObject(schema);
  const before = object === null ? undefined : jsonCache.get(object);
  if (before !== undefined) return before;
  const text = JSON.stringify(valueForSchema(schema));
  const made = { text, pieces: piecesOf(text) };
  if (object !== null) jsonCache.set(object, made);
  return made;
}

function promptsOf(prompt: unknown): readonly string[] {
  return typeof prompt === 'string' ? [prompt] : asList(prompt).map((text) => asText(text) ?? '');
}

interface Tool {
  readonly name: string;
  readonly parameters: unknown;
}

/** The tool that `tool_choice` requires. */
function calledTool(request: JsonObject): Tool | null {
  const choice = request['tool_choice'];
  const tools = asList(request['tools']).map((tool) => asObject(asObject(tool)?.['function']) ?? {});
  const named = asText(asObject(asObject(choice)?.['function'])?.['name']);
  const found = named === null ? tools[0] : tools.find(({ name }) => name === named);
  const name = named ?? (choice === 'required' ? asText(found?.['name']) : null);
  return name === null ? null : { name, parameters: found?.['parameters'] };
}

function wordsFor(text: string, request: JsonObject): readonly string[] {
  const format = asObject(request['response_format']);
  if (format?.['type'] === 'json_object') return piecesOf('{"mock":true}');
  if (format?.['type'] === 'json_schema') {
    const schema = asObject(format['json_schema'])?.['schema'];
    return schema === undefined ? piecesOf('{"mock":true}') : jsonFor(schema).pieces;
  }
  const hash = hashOf(text);
  const chosen = facts.filter((_, at) => ((hash >>> at) & 1) === 1);
  const reply = [opening, ...chosen, `Reference ${nextOf(hash) % referenceBound}.`].join(' ');
  return reply.match(/ ?[^ ]+/g) ?? [];
}

/** Pieces of up to four characters; surrogate pairs are never split. */
function piecesOf(text: string): readonly string[] {
  return text.match(/.{1,4}/gsu) ?? [];
}

/** FNV-1a and a linear congruential generator: deterministic on every machine. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function nextOf(state: number): number {
  return (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 8;
}

function stopsOf(stop: unknown): readonly string[] {
  const stops = typeof stop === 'string' ? [stop] : asList(stop).map((text) => asText(text) ?? '');
  return stops.filter((text) => text !== '');
}

function untilStop(tokens: readonly string[], stops: readonly string[]): readonly string[] {
  const text = tokens.join('');
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  if (found.length === 0) return tokens;
  let left = Math.min(...found);
  const truncated: string[] = [];
  for (const token of tokens) {
    if (left <= 0) break;
    truncated.push(token.slice(0, left));
    left -= token.length;
  }
  return truncated;
}

function usage({ promptTokens }: MockResponseOptions, completion: number) {
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

const callOf = (name: string, index: number, written: string) => ({
  id: `call_mock_${index}`,
  type: 'function',
  function: { name, arguments: written },
});

function asJson(responses: readonly MockChoice[], shape: MockResponseOptions): MockResponse {
  const choices = responses.map(({ index, tokens, toolName, wantsLogprobs, finishReason }) => {
    const text = tokens.join('');
    const message =
      toolName === null
        ? { role: 'assistant', content: text }
        : { role: 'assistant', content: null, tool_calls: [callOf(toolName, index, text)] };
    return {
      index,
      ...(shape.isChat ? { message } : { text }),
      logprobs: wantsLogprobs ? logprobsOf(tokens) : null,
      finish_reason: finishReason,
    };
  });
  const total = responses.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const response = { id: 'mock', model: shape.model, choices, usage: usage(shape, total) };
  return { status: 200, contentType: 'application/json', chunks: [Buffer.from(JSON.stringify(response))] };
}

function asStream(responses: readonly MockChoice[], shape: MockResponseOptions): MockResponse {
  const events: string[] = [];
  const send = (choices: readonly object[], completion: number): void => {
    const event = { id: 'mock', model: shape.model, choices, usage: usage(shape, completion) };
    events.push(`data: ${JSON.stringify(event)}\n\n`);
  };
  for (const { index, tokens, toolName, wantsLogprobs, finishReason } of responses) {
    if (shape.isChat) send([{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }], 0);
    for (const [at, token] of tokens.entries()) {
      const logprobs = wantsLogprobs ? logprobsOf([token]) : null;
      const delta =
        toolName === null
          ? { content: token }
          : { tool_calls: [{ index: 0, ...callOf(toolName, index, token) }] };
      const part = shape.isChat ? { delta } : { text: token };
      send([{ index, ...part, logprobs, finish_reason: null }], at + 1);
    }
    const last = shape.isChat ? { delta: {} } : { text: '' };
    send([{ index, ...last, finish_reason: finishReason }], tokens.length);
  }
  send(
    [],
    responses.reduce((sum, { tokens }) => sum + tokens.length, 0),
  );
  events.push('data: [DONE]\n\n');
  return { status: 200, contentType: 'text/event-stream', chunks: events.map((event) => Buffer.from(event)) };
}
