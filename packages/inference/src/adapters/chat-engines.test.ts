import { contract } from '@millrace/contract';
import { startChatDouble, type ChatDouble, type ChatDoubleOptions } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TextEngineError, type TextAdapter } from './text/text-adapter.ts';
import { chatAdapterOf } from './text/chat-adapters.ts';
import {
  completionContext,
  chatRequest,
  completionRequest,
  eventsIn,
  readStream,
  textsIn,
  upstreamContext,
} from './text/chat.fixture.ts';
import { completionAdapterOf } from './text/completion-adapters.ts';

/** Tests each dialect against the double of its engine; chat-llama.int.test.ts uses a real llama-server. */

const { event: chunkSchema, schema: responseSchema } = contract.operations.createChatCompletion.response;
const completionSchema = contract.operations.createCompletion.response.schema;
const tokens = ['Brot', ' aus', ' "Mehl"', '\n', ' 🍞', '.'];
const sentence = tokens.join('');
const engines: readonly ChatDoubleOptions['engine'][] = ['vllm', 'sglang', 'openai'];

describe.each(engines)('%s adapter with a double', (engine) => {
  // The double reports four cached tokens. Those of a shared cache must not reach clients.
  const cached = engine === 'openai' ? 0 : 4;
  const cost = 6 + cached * 100 + (11 - cached) * 10_000;
  let double: ChatDouble;
  beforeAll(async () => {
    double = await startChatDouble({ engine, tokens, promptTokens: 11, cachedTokens: 4, apiKey: 'secret' });
  });
  afterAll(() => double.close());

  async function send<Request>(adapter: TextAdapter<Request>, request: Request, maxTokens = 16) {
    const upstream = adapter.toUpstream(request, { ...upstreamContext, maxTokens });
    const response = await fetch(`${double.address}${upstream.path}`, {
      method: 'POST',
      headers: upstream.headers,
      body: upstream.body,
    });
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  }

  async function whole(body: object, maxTokens?: number) {
    const request = chatRequest(body);
    const { bytes } = await send(chatAdapterOf(engine), request, maxTokens);
    return chatAdapterOf(engine).readCompletion(bytes.toString(), request, completionContext);
  }

  async function streamed(body: object, maxTokens?: number) {
    const request = chatRequest({ ...body, stream: true });
    const { bytes } = await send(chatAdapterOf(engine), request, maxTokens);
    return readStream(chatAdapterOf(engine).openStream(request, completionContext), [bytes]);
  }

  it("returns equal text and cost streamed and whole, in the contract's shape with our names", async () => {
    const one = await whole({});
    const response = responseSchema.parse(JSON.parse(one.body));
    expect(response.choices).toEqual([
      { index: 0, message: { role: 'assistant', content: sentence }, finish_reason: 'stop' },
    ]);
    expect(response).toMatchObject({ id: 'req_1', model: 'acme/chät', created: 1_760_000_001 });
    expect(response.usage).toEqual({
      prompt_tokens: 11,
      total_tokens: 17,
      completion_tokens: 6,
      prompt_tokens_details: { cached_tokens: cached },
      cost_nano_usd: cost,
    });

    const other = await streamed({});
    expect(textsIn(other.text)).toEqual([sentence]);
    const events = eventsIn(other.text);
    for (const event of events) {
      expect(chunkSchema.parse(event)).toMatchObject({ id: 'req_1', model: 'acme/chät' });
    }
    expect(events.at(-1)?.usage).toEqual(response.usage);
    expect(other.counts).toEqual(one.counts);
    expect([other.finishReason, one.finishReason]).toEqual(['stop', 'stop']);
  });

  it('sends usage with an empty last delta by default', async () => {
    const { text } = await streamed({});
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    const events = eventsIn(text);
    expect(events.at(-1)?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'stop' }]);
    expect(events.filter(({ usage }) => usage !== undefined)).toHaveLength(1);
    expect(events.filter(({ choices }) => choices.length === 0)).toHaveLength(0);
  });

  it('sends a separate usage chunk if the client requested it', async () => {
    const { text } = await streamed({ stream_options: { include_usage: true } });
    const events = eventsIn(text);
    expect(events.at(-1)?.choices).toEqual([]);
    expect(events.at(-1)?.usage).toMatchObject({ completion_tokens: 6, cost_nano_usd: cost });
    expect(events.at(-2)?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'stop' }]);
    expect(events.at(-2)?.usage).toBeUndefined();
  });

  it('stops at max_tokens with finish_reason length without losing text, whole and streamed', async () => {
    const one = await whole({}, 3);
    const other = await streamed({}, 3);
    expect(textsIn(other.text)).toEqual([tokens.slice(0, 3).join('')]);
    expect([one.finishReason, other.finishReason]).toEqual(['length', 'length']);
    expect(eventsIn(other.text).at(-1)?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'length' }]);
    expect(one.counts).toEqual({ prompt: 11, cached, completion: 3 });
    expect(other.counts).toEqual(one.counts);
  });

  it('counts each of n choices once and the prompt once, with usage only on the last end', async () => {
    const counts = { prompt: 11, cached, completion: 18 };
    expect((await whole({ n: 3 })).counts).toEqual(counts);
    const { text, counts: streamedCounts } = await streamed({ n: 3 });
    expect(streamedCounts).toEqual(counts);
    expect(textsIn(text)).toEqual([sentence, sentence, sentence]);
    const ends = eventsIn(text).filter(({ choices }) =>
      choices.some((choice) => choice.finish_reason !== null),
    );
    expect(ends.map(({ usage }) => usage?.['completion_tokens'])).toEqual([undefined, undefined, 18]);
  });

  it('passes on tool calls without content', async () => {
    const tools = [{ type: 'function', function: { name: 'weigh', parameters: { type: 'object' } } }];
    const fields = { tools, tool_choice: { type: 'function', function: { name: 'weigh' } } };
    const response = responseSchema.parse(JSON.parse((await whole(fields)).body));
    expect(response.choices[0]?.message).toMatchObject({
      content: null,
      tool_calls: [{ type: 'function', function: { name: 'weigh', arguments: '{"a":1}' } }],
    });
    const { text, finishReason } = await streamed(fields);
    expect(finishReason).toBe('tool_calls');
    const calls = eventsIn(text).flatMap(({ choices }) =>
      choices.flatMap(({ delta }) => delta?.tool_calls ?? []),
    );
    expect(calls[0]).toMatchObject({ index: 0, type: 'function', function: { name: 'weigh' } });
    for (const event of eventsIn(text)) chunkSchema.parse(event);
  });

  it.each([
    ['true', { logprobs: true }, 0],
    ['true with top_logprobs', { logprobs: true, top_logprobs: 2 }, 2],
    ['a number', { logprobs: 3 }, 3],
  ])('lists as many alternatives as logprobs requests: %s', async (_name, fields, alternatives) => {
    const { text } = await streamed(fields);
    const listed = eventsIn(text).flatMap(({ choices }) =>
      choices.flatMap((choice) => choice.logprobs?.content ?? []),
    );
    expect(listed).toHaveLength(tokens.length);
    for (const { top_logprobs: top } of listed) expect(top).toHaveLength(alternatives);
  });

  it.each([{ logprobs: false }, { logprobs: 0 }, {}])('returns no logprobs for %j', async (fields) => {
    expect((await streamed(fields)).text).not.toContain('logprobs');
    expect((await whole(fields)).body).not.toContain('logprobs');
  });

  it('has running counts that only grow and never exceed the output, at every byte', async () => {
    const request = chatRequest({ stream: true, n: 2 });
    const { bytes } = await send(chatAdapterOf(engine), request);
    const stream = chatAdapterOf(engine).openStream(request, completionContext);
    let produced = 0;
    let before = stream.counts();
    for (let at = 0; at < bytes.length; at += 1) {
      const out = stream.push(bytes.subarray(at, at + 1)).toString();
      for (const { choices } of eventsIn(out)) {
        produced += choices.filter(
          ({ delta }) => delta?.content !== undefined && delta.content !== '',
        ).length;
      }
      const now = stream.counts();
      expect(now.completion).toBeGreaterThanOrEqual(before.completion);
      expect(now.prompt).toBeGreaterThanOrEqual(before.prompt);
      expect(now.completion).toBeLessThanOrEqual(Math.max(produced, out.includes('[DONE]') ? 12 : produced));
      before = now;
    }
    expect(before).toEqual({ prompt: 11, cached, completion: 12 });
  });

  it('bills a client that leaves for the last count or the documented lower bound', async () => {
    const request = chatRequest({ stream: true });
    const { bytes } = await send(chatAdapterOf(engine), request);
    const stream = chatAdapterOf(engine).openStream(request, completionContext);
    stream.push(bytes.subarray(0, bytes.indexOf('Mehl')));
    stream.push(bytes.subarray(bytes.indexOf('Mehl'), bytes.indexOf('🍞')));
    const { countsWhileRunning } = chatAdapterOf(engine);
    expect(countsWhileRunning).toBe(engine !== 'openai');
    expect(stream.counts()).toEqual(
      countsWhileRunning ? { prompt: 11, cached: 0, completion: 4 } : { prompt: 2, cached: 0, completion: 4 },
    );
  });

  it.each(['error event', 'cut'] as const)(
    'fails on a stream that breaks midway (%s) and never sends [DONE]',
    async (way) => {
      double.failNext(way);
      const request = chatRequest({ stream: true });
      const bytes = await send(chatAdapterOf(engine), request).then(
        (response) => response.bytes,
        // The connection was cut, so only the bytes before it were read.
        () =>
          Buffer.from(
            'data: {"choices":[{"index":0,"delta":{"content":"Brot aus"},"finish_reason":null}]}\n\n',
          ),
      );
      const { text, broken } = readStream(chatAdapterOf(engine).openStream(request, completionContext), [
        bytes,
      ]);
      expect(textsIn(text)).toEqual(['Brot aus']);
      expect(text).not.toContain('[DONE]');
      expect(broken?.failure).toMatchObject({ reason: 'UPSTREAM_ERROR', retryable: true });
    },
  );

  it('completes plain text for several prompts and choices, streamed and whole', async () => {
    const adapter = completionAdapterOf(engine);
    const fields = { prompt: ['Once', 'Twice'], n: 2 };
    const request = completionRequest(fields);
    const one = adapter.readCompletion(
      (await send(adapter, request)).bytes.toString(),
      request,
      completionContext,
    );
    const response = completionSchema.parse(JSON.parse(one.body));
    expect(response.choices.map(({ index, text }) => [index, text])).toEqual(
      [0, 1, 2, 3].map((index) => [index, sentence]),
    );
    expect(one.counts).toEqual({ prompt: 22, cached, completion: 24 });

    const streaming = completionRequest({ ...fields, stream: true });
    const { bytes } = await send(adapter, streaming);
    const received = readStream(adapter.openStream(streaming, completionContext), [bytes]);
    expect(textsIn(received.text)).toEqual([sentence, sentence, sentence, sentence]);
    expect(received.counts).toEqual(one.counts);
    for (const event of eventsIn(received.text)) completionSchema.parse(event);
    expect(eventsIn(received.text).at(-1)?.usage).toEqual(response.usage);
  });

  it('distinguishes a prompt that is too long from a failed engine', async () => {
    const adapter = chatAdapterOf(engine);
    const tooLong = await send(adapter, chatRequest(), 5_000);
    expect(adapter.readFailure(tooLong.status, tooLong.bytes.toString())).toMatchObject({
      reason: 'CONTEXT_LENGTH_EXCEEDED',
      retryable: false,
    });
    double.failNext('overloaded', 'broken');
    const full = await send(adapter, chatRequest());
    expect(adapter.readFailure(full.status, full.bytes.toString())).toMatchObject({
      reason: 'MODEL_OVERLOADED',
      retryable: true,
    });
    const broken = await send(adapter, chatRequest());
    expect(adapter.readFailure(broken.status, broken.bytes.toString())).toMatchObject({
      reason: 'UPSTREAM_ERROR',
      retryable: true,
    });
  });

  it('accepts every parameter of its protocol', async () => {
    const beyond = engine === 'openai' ? {} : { top_k: 0, min_p: 0.1, repetition_penalty: 1.1 };
    const { status, bytes } = await send(
      chatAdapterOf(engine),
      chatRequest({
        messages: [
          { role: 'developer', content: 'Be brief.' },
          { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        ],
        ...{
          frequency_penalty: 1,
          presence_penalty: 0.5,
          logit_bias: { '5': -100 },
          logprobs: 2,
          n: 2,
          seed: 7,
        },
        ...{ stop: ['.'], temperature: 2, top_p: 1, user: 'u', response_format: { type: 'json_object' } },
        ...{ max_completion_tokens: 9, ...beyond },
      }),
    );
    expect([status, status === 200 ? '' : bytes.toString()]).toEqual([200, '']);
  });
});

describe('OpenAI server adapter', () => {
  it('reports which parameter the server refused', async () => {
    await using double = await startChatDouble({ engine: 'openai' });
    const adapter = chatAdapterOf('openai');
    const upstream = adapter.toUpstream(chatRequest({ top_k: 5 }), upstreamContext);
    const response = await fetch(`${double.address}${upstream.path}`, {
      method: 'POST',
      body: upstream.body,
    });
    expect(adapter.readFailure(response.status, await response.text())).toEqual({
      status: 400,
      reason: 'PARAMETER_NOT_SUPPORTED',
      message: 'The model does not support the parameter top_k.',
      retryable: false,
    });
  });

  it('leaves out parameters without effect', async () => {
    await using double = await startChatDouble({ engine: 'openai' });
    const adapter = chatAdapterOf('openai');
    const request = chatRequest({
      top_k: -1,
      min_p: 0,
      repetition_penalty: 1,
      n: 1,
      tools: [],
      tool_choice: 'none',
    });
    const upstream = adapter.toUpstream(request, upstreamContext);
    await fetch(`${double.address}${upstream.path}`, { method: 'POST', body: upstream.body });
    expect(double.received[0]?.body).toEqual({
      model: 'up/model',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 16,
    });
  });
});

describe('readCompletion', () => {
  it.each([
    ['no JSON', 'Bad gateway'],
    ['an error in disguise', '{"error":{"message":"x","code":500}}'],
    ['no choices', '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}'],
    ['too many choices', '{"choices":[{"index":0},{"index":1}]}'],
    ['a choice twice', '{"choices":[{"index":1}]}'],
  ])('reports an engine failure for an invalid response: %s', (_name, text) => {
    expect(() => chatAdapterOf('vllm').readCompletion(text, chatRequest(), completionContext)).toThrow(
      TextEngineError,
    );
  });

  it('separates reasoning from content', () => {
    for (const name of ['reasoning_content', 'reasoning']) {
      const message = { role: 'assistant', content: '42', [name]: 'Let me think.' };
      const text = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
      const response = responseSchema.parse(
        JSON.parse(chatAdapterOf('vllm').readCompletion(text, chatRequest(), completionContext).body),
      );
      expect(response.choices[0]?.message).toEqual({
        role: 'assistant',
        content: '42',
        reasoning_content: 'Let me think.',
      });
    }
  });

  it('charges the documented lower bound without usage', () => {
    const text = '{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}';
    const { counts } = chatAdapterOf('openai').readCompletion(text, chatRequest(), completionContext);
    expect(counts).toEqual({ prompt: 2, cached: 0, completion: 1 });
    const long = text.replace('Hi', 'The mill turns by night.');
    const { counts: more } = chatAdapterOf('openai').readCompletion(long, chatRequest(), completionContext);
    expect(more).toEqual({ prompt: 2, cached: 0, completion: 5 });
  });

  it('never reports more cached tokens than prompt tokens', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } };
    const text = JSON.stringify({ choices: [{ index: 0, message: { content: null } }], usage });
    const response = chatAdapterOf('vllm').readCompletion(text, chatRequest(), completionContext);
    expect(response.counts).toEqual({ prompt: 3, cached: 3, completion: 1 });
    expect(JSON.parse(response.body).choices[0].message).toEqual({ role: 'assistant', content: '' });
  });
});
