import { contract } from '@millrace/contract';
import { startLlama, type TestLlama } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TextAdapter } from './text/text-adapter.ts';
import { chatAdapterOf } from './text/chat-adapters.ts';
import {
  completionContext,
  chatRequest,
  completionRequest,
  deployment,
  eventsIn,
  readStream,
  textsIn,
} from './text/chat.fixture.ts';
import { completionAdapterOf } from './text/completion-adapters.ts';

const { event: chunkSchema, schema: responseSchema } = contract.operations.createChatCompletion.response;
const chat = chatAdapterOf('llama.cpp');
const completion = completionAdapterOf('llama.cpp');
const user = (content: string) => ({ messages: [{ role: 'user', content }] });
const fixed = { temperature: 0, seed: 1 };

describe('llama.cpp adapter with a real llama-server', () => {
  let llama: TestLlama;
  beforeAll(async () => {
    llama = await startLlama({ parallel: 4 });
  });
  afterAll(() => llama[Symbol.asyncDispose]());

  async function send<Request>(adapter: TextAdapter<Request>, request: Request, maxTokens = 400) {
    const slot = { id: 0, reuse: true };
    const place = { ...deployment, upstreamModel: llama.model, apiKey: llama.apiKey };
    const upstream = adapter.toUpstream(request, { deployment: place, maxTokens, cacheSalt: 'salt', slot });
    const response = await fetch(`${llama.url}${upstream.path}`, {
      method: 'POST',
      headers: upstream.headers,
      body: upstream.body,
    });
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  }

  async function whole(body: object, maxTokens?: number) {
    const request = chatRequest(body);
    const { status, bytes } = await send(chat, request, maxTokens);
    expect([status, status === 200 ? '' : bytes.toString()]).toEqual([200, '']);
    const read = chat.readCompletion(bytes.toString(), request, completionContext);
    return { ...read, completion: responseSchema.parse(JSON.parse(read.body)) };
  }

  async function streamed(body: object, maxTokens?: number) {
    const request = chatRequest({ ...body, stream: true });
    const { bytes } = await send(chat, request, maxTokens);
    const received = readStream(chat.openStream(request, completionContext), [bytes]);
    for (const event of eventsIn(received.text)) chunkSchema.parse(event);
    return { ...received, bytes };
  }

  it('returns equal text and cost streamed and whole for a long completion', async () => {
    const fields = { ...user('Count from 1 to 100.'), ...fixed };
    await whole(fields);
    // From the second request on the prompt is cached for both.
    const one = await whole(fields);
    const other = await streamed(fields);
    const hundred = Array.from({ length: 100 }, (_, at) => at + 1).join(', ');
    expect(one.completion.choices[0]?.message.content).toBe(`${hundred}.`);
    expect(textsIn(other.text)).toEqual([`${hundred}.`]);
    expect(other.counts).toEqual(one.counts);
    expect(one.counts).toMatchObject({ prompt: 14, completion: 392 });
    expect(one.counts.cached).toBeGreaterThan(0);
    expect(eventsIn(other.text).at(-1)?.usage).toEqual(one.completion.usage);
    expect([one.finishReason, other.finishReason]).toEqual(['stop', 'stop']);
  });

  it('reports running counts at every event that end with the billed counts', async () => {
    const { bytes, counts } = await streamed({ ...user('Count from 1 to 100.'), ...fixed }, 60);
    const stream = chat.openStream(chatRequest({ stream: true }), completionContext);
    let produced = 0;
    for (const event of bytes.toString().split(/(?<=\n\n)/)) {
      const before = stream.counts();
      if (textsIn(stream.push(Buffer.from(event)).toString()).join('') !== '') produced += 1;
      const now = stream.counts();
      expect(now.completion).toBeGreaterThanOrEqual(before.completion);
      expect(now.completion).toBe(produced);
      if (produced > 0) expect(now.prompt).toBe(14);
    }
    expect(stream.counts()).toEqual(counts);
    expect(counts.completion).toBe(60);
  });

  it('counts several choices together, whole and streamed', async () => {
    const fields = { ...user('Hello!'), n: 3, temperature: 1, seed: 5 };
    const one = await whole(fields, 8);
    const other = await streamed(fields, 8);
    expect(one.completion.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(textsIn(other.text)).toHaveLength(3);
    expect(one.counts.prompt).toBe(6);
    expect(one.counts.completion).toBeGreaterThan(8);
    expect(other.counts.prompt).toBe(6);
    expect(other.counts.completion).toBeGreaterThan(8);
    expect(other.counts.completion).toBeLessThanOrEqual(24);
  });

  it.each([1, 2])('stops at max_tokens with finish_reason length (n %i)', async (n) => {
    const one = await whole({ ...user('Count from 1 to 100.'), ...fixed, n }, 5);
    expect(one.finishReason).toBe('length');
    expect(one.counts.completion).toBe(5 * n);
  });

  it('stops at a stop word and leaves it out', async () => {
    const { completion } = await whole({ ...user('Count from 1 to 100.'), ...fixed, stop: ['5', '7'] });
    expect(completion.choices[0]).toMatchObject({
      message: { content: '1, 2, 3, 4, ' },
      finish_reason: 'stop',
    });
  });

  it.each([
    [{ logprobs: true }, 0],
    [{ logprobs: true, top_logprobs: 3 }, 3],
    [{ logprobs: 2 }, 2],
  ])('returns logprobs as requested: %j', async (fields, alternatives) => {
    const { completion } = await whole({ ...user('Hello!'), ...fixed, ...fields }, 4);
    const listed = completion.choices[0]?.logprobs?.['content'] as { top_logprobs: object[] }[];
    expect(listed).toHaveLength(4);
    expect(Object.keys(listed[0] ?? {})).toEqual(['token', 'logprob', 'bytes', 'top_logprobs']);
    for (const { top_logprobs: top } of listed) expect(top).toHaveLength(alternatives);
    const { text } = await streamed({ ...user('Hello!'), ...fixed, ...fields }, 4);
    const received = eventsIn(text).flatMap(({ choices }) =>
      choices.flatMap((choice) => choice.logprobs?.content ?? []),
    );
    expect(received).toEqual(listed);
  });

  it('reproduces output for any 64-bit seed and differs for another seed', async () => {
    const run = async (seed: number) =>
      (await whole({ ...user('Tell me a story about a fox.'), temperature: 1.5, seed }, 40)).completion
        .choices[0]?.message.content;
    for (const seed of [7, -1, Number.MAX_SAFE_INTEGER]) expect(await run(seed)).toBe(await run(seed));
    expect(await run(7)).not.toBe(await run(8));
  });

  it('applies every parameter: penalties, biases and sampling', async () => {
    const prompt = user('Tell me a story about a fox.');
    const run = async (fields: object) =>
      (await whole({ ...prompt, ...fixed, ...fields }, 40)).completion.choices[0]?.message.content;
    const baseline = await run({});
    expect(await run({ repetition_penalty: 5 })).not.toBe(baseline);
    expect(await run({ frequency_penalty: 1, presence_penalty: 1 })).not.toBe(baseline);
    const wild = { temperature: 2, seed: 3 };
    expect(await run(wild)).not.toBe(baseline);
    expect(await run({ ...wild, top_k: 1 })).toBe(baseline);
    expect(await run({ ...wild, top_p: 0 })).toBe(baseline);
    expect(await run({ ...wild, min_p: 1 })).toBe(baseline);
    const { completion } = await whole({ ...user('Hello!'), ...fixed, logprobs: true }, 1);
    const first = completion.choices[0]?.message.content;
    const banned = Object.fromEntries(Array.from({ length: 1_000 }, (_, id) => [id, id === 437 ? -100 : 0]));
    const other = await whole({ ...user('Hello!'), ...fixed, logit_bias: banned }, 1);
    expect(first).toBe('Hello');
    expect(other.completion.choices[0]?.message.content).not.toBe('Hello');
  });

  it('accepts tools, formats, content parts, names and every role', async () => {
    const tools = [
      { type: 'function', function: { name: 'weigh', parameters: { type: 'object', properties: {} } } },
    ];
    const call = { id: 'a', type: 'function', function: { name: 'weigh', arguments: '{}' } };
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hello!' }], name: 'Ann' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'It weighs 5.' },
    ];
    await whole({ messages, tools, tool_choice: 'auto', ...fixed }, 8);
    const { completion } = await whole(
      { ...user('Hello!'), ...fixed, response_format: { type: 'json_object' } },
      8,
    );
    expect(completion.choices[0]?.message.content).toMatch(/^\s*\{/);
  });

  it('distinguishes a prompt that is too long from too many choices', async () => {
    const long = await send(chat, chatRequest(user('dog '.repeat(3_000))));
    expect(chat.readFailure(long.status, long.bytes.toString())).toMatchObject({
      reason: 'CONTEXT_LENGTH_EXCEEDED',
      retryable: false,
    });
    const many = await send(chat, chatRequest({ ...user('Hello!'), n: 9 }));
    expect(chat.readFailure(many.status, many.bytes.toString())).toMatchObject({
      reason: 'PARAMETER_NOT_SUPPORTED',
      message: 'The model does not support the parameter n.',
    });
  });

  it('completes plain text for several prompts and choices', async () => {
    const fields = { prompt: ['Hello', 'The cat is big'], n: 2, temperature: 1, seed: 3 };
    const request = completionRequest(fields);
    const { bytes } = await send(completion, request, 6);
    const one = completion.readCompletion(bytes.toString(), request, completionContext);
    expect((JSON.parse(one.body) as { choices: object[] }).choices).toHaveLength(4);
    expect(one.counts.prompt).toBe(2 + 5);
    expect(one.counts.completion).toBeGreaterThan(4);

    const streaming = completionRequest({ ...fields, stream: true });
    const received = readStream(completion.openStream(streaming, completionContext), [
      (await send(completion, streaming, 6)).bytes,
    ]);
    expect(received.broken).toBeNull();
    expect(textsIn(received.text)).toHaveLength(4);
    expect(received.counts.prompt).toBe(2 + 5);
    const single = completionRequest({ prompt: 'Hello', ...fixed, logprobs: 2 });
    const response = completion.readCompletion(
      (await send(completion, single, 3)).bytes.toString(),
      single,
      completionContext,
    );
    expect(response.counts.prompt).toBe(2);
    expect(response.body).toContain('top_logprobs');
  });
});
