import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { eventually, startStopwatch, scaledLimitMs } from '@millrace/testing';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  CHAT_PRICES,
  openAiClient,
  seedInferenceTenant,
  seedOperator,
  deployChatModel,
  type InferenceTenant,
} from '../stack/inference-tenant.ts';

/**
 * The unmodified OpenAI client against the whole product at one address: HAProxy as we ship it, two apis, two gateways, a worker,
 * llama-server, image and speech engines.
 */

const MODEL = 'millrace-tiny';
/** The same model with a chat template that includes tools. */
const TOOLS_MODEL = 'millrace-tiny-tools';
const oneToHundred = `${Array.from({ length: 100 }, (_, nth) => nth + 1).join(', ')}.`;

let stack: InferenceStack;
let tenant: InferenceTenant;
let openai: OpenAI;

beforeAll(async () => {
  const template = fileURLToPath(new URL('tools.jinja', import.meta.url));
  stack = await openInferenceStack({
    proxy: 'haproxy',
    media: true,
    llamas: [{}, { args: ['--chat-template-file', template] }],
  });
  const operator = await seedOperator(stack);
  const [plain, withTools] = stack.llamas;
  if (plain === undefined || withTools === undefined)
    throw new Error('The stack has fewer than two llama-servers.');
  await deployChatModel({ ...stack, llamas: [plain] }, operator, MODEL);
  await deployChatModel({ ...stack, llamas: [withTools] }, operator, TOOLS_MODEL);
  const { images, speech } = stack.endpoints;
  if (images === undefined || speech === undefined) throw new Error('The stack has no media engines.');
  await addModel(operator, { name: 'toy-images', modality: 'image', prices: { image: 10_000_000 } });
  await addDeployment(operator, { model: 'toy-images', engine: 'openai-images', ...reachOf(images) });
  await addModel(operator, { name: 'flite', modality: 'audio', prices: { character: 5_000 } });
  await addDeployment(operator, { model: 'flite', engine: 'speech', ...reachOf(speech) });
  tenant = await seedInferenceTenant(stack, 1_000_000_000n);
  openai = tenant.openai;
  await stack.startGateways();
  await eventually({ what: 'all models to be on offer' }, async () => {
    const { data } = await openai.models.list();
    return data.length === 4;
  });
});

afterAll(async () => stack?.close());

const reachOf = ({ url, apiKey }: { readonly url: string; readonly apiKey: string }) => ({
  address: url,
  apiKey,
});

const body = (content: string) => ({
  model: MODEL,
  messages: [{ role: 'user' as const, content }],
  temperature: 0,
});

const priceOf = (usage: OpenAI.CompletionUsage | null | undefined): number => {
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = usage ?? {};
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const { prompt_token, cached_prompt_token, completion_token } = CHAT_PRICES;
  return (prompt - cached) * prompt_token + cached * cached_prompt_token + completion * completion_token;
};

async function collect(stream: AsyncIterable<OpenAI.ChatCompletionChunk>) {
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  return { chunks, text, usage: chunks.at(-1)?.usage };
}

describe('chat completions', () => {
  test('return text, token counts, the request id and the requested model name', async () => {
    const { data, response } = await openai.chat.completions.create(body('Hello!')).withResponse();
    expect(data).toMatchObject({
      id: response.headers.get('x-inference-request-id'),
      object: 'chat.completion',
      model: MODEL,
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: { role: 'assistant', content: 'Hello! What can I do for you?' },
        },
      ],
      usage: { prompt_tokens: 6, completion_tokens: 10, total_tokens: 16 },
    });
    expect(response.headers.get('inference-id')).toBe(data.id);
    expect(Number(response.headers.get('x-ratelimit-remaining-requests'))).toBeGreaterThan(0);
    expect(await tenant.costOf(data.id)).toBe(priceOf(data.usage));
  });

  test('stream the same text, with finish reason, counts and cost in the last chunk', async () => {
    const { chunks, text } = await collect(
      await openai.chat.completions.create({
        ...body('Count from 1 to 100.'),
        stream: true,
        max_tokens: 1_000,
      }),
    );
    expect(text).toBe(oneToHundred);
    expect(chunks.length).toBeGreaterThan(100);
    expect(new Set(chunks.map(({ id, model, object }) => `${id} ${model} ${object}`)).size).toBe(1);
    const [last] = chunks.slice(-1);
    expect(chunks.filter(({ choices }) => choices[0]?.finish_reason != null)).toEqual([last]);
    expect(last?.choices[0]?.delta).toEqual({});
    expect(last?.usage).toMatchObject({ completion_tokens: 392, cost_nano_usd: priceOf(last?.usage) });
  });

  test('send the counts in a separate chunk with include_usage', async () => {
    const stream_options = { include_usage: true };
    const { chunks, usage } = await collect(
      await openai.chat.completions.create({ ...body('Who are you?'), stream: true, stream_options }),
    );
    expect(chunks.at(-1)?.choices).toEqual([]);
    expect(usage?.completion_tokens).toBe(24);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
  });

  test('work with the stream helper of the client', async () => {
    const final = await openai.chat.completions.stream(body('What colour is the sky?')).finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe('The sky is blue.');
  });

  test('return the same text and cost for the same seed, streamed or not, and another text for another seed', async () => {
    const args = { ...body('Tell me a story about a dog.'), temperature: 0.9, max_tokens: 400 };
    // The first answer fills the engine's cache; cached tokens are cheaper.
    await openai.chat.completions.create({ ...args, seed: 11 });
    const whole = await openai.chat.completions.create({ ...args, seed: 11 });
    const streamed = await collect(await openai.chat.completions.create({ ...args, seed: 11, stream: true }));
    expect(streamed.text).toBe(whole.choices[0]?.message.content);
    const { cost_nano_usd: cost, ...counts } = { cost_nano_usd: 0, ...streamed.usage };
    expect(whole.usage).toMatchObject(counts);
    expect(cost).toBe(priceOf(whole.usage));
    expect(await tenant.costOf(streamed.chunks[0]?.id ?? '')).toBe(await tenant.costOf(whole.id));
    const other = await openai.chat.completions.create({ ...args, seed: 12 });
    expect(other.choices[0]?.message.content).not.toBe(whole.choices[0]?.message.content);
  });

  test('count the tokens of every choice', async () => {
    const args = { ...body('Tell me a story about a cat.'), temperature: 0.8, seed: 3, n: 3, max_tokens: 20 };
    const { choices, usage, id } = await openai.chat.completions.create(args);
    expect(new Set(choices.map(({ index }) => index))).toEqual(new Set([0, 1, 2]));
    expect(new Set(choices.map(({ message }) => message.content)).size).toBe(3);
    expect(usage?.completion_tokens).toBe(60);
    expect(await tenant.costOf(id)).toBe(priceOf(usage));
    const streamed = await collect(await openai.chat.completions.create({ ...args, stream: true }));
    expect(new Set(streamed.chunks.flatMap((chunk) => chunk.choices.map(({ index }) => index)))).toEqual(
      new Set([0, 1, 2]),
    );
    expect(streamed.usage?.completion_tokens).toBe(60);
  });

  test('pass logprobs, stop and max_tokens to the engine', async () => {
    const { choices } = await openai.chat.completions.create({
      ...body('Who are you?'),
      logprobs: true,
      top_logprobs: 3,
      max_tokens: 3,
    });
    expect(choices[0]?.finish_reason).toBe('length');
    const tokens = choices[0]?.logprobs?.content ?? [];
    expect(tokens.map(({ top_logprobs }) => top_logprobs.length)).toEqual([3, 3, 3]);
    expect(tokens.map(({ token }) => token).join('')).toBe(choices[0]?.message.content);
    const stopped = await openai.chat.completions.create({ ...body('Count from 1 to 20.'), stop: ['7'] });
    expect(stopped.choices[0]?.message.content).toBe('1, 2, 3, 4, 5, 6, ');
  });

  test('pass tools and a response schema to the engine', async () => {
    const args = body('What is the weather in Paris?');
    const without = await openai.chat.completions.create({ ...args, model: TOOLS_MODEL });
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }];
    const given = await openai.chat.completions.create({ ...args, model: TOOLS_MODEL, tools });
    // The description of the tools is part of the prompt that the engine counted.
    expect(given.usage?.prompt_tokens).toBeGreaterThan((without.usage?.prompt_tokens ?? 0) + 50);
    const schema = {
      type: 'object',
      properties: { colour: { enum: ['red', 'blue'] } },
      required: ['colour'],
    };
    const shaped = await openai.chat.completions.create({
      ...body('Hello!'),
      response_format: { type: 'json_schema', json_schema: { name: 'colour', schema } },
    });
    expect(JSON.parse(shaped.choices[0]?.message.content ?? '')).toEqual({
      colour: expect.stringMatching(/red|blue/),
    });
  });

  test('accept plain completions', async () => {
    const { choices, usage } = await openai.completions.create({
      model: MODEL,
      prompt: '<|user|>Hello!<|end|><|assistant|>',
      temperature: 0,
      max_tokens: 20,
    });
    expect(choices[0]?.text).toContain('Hello! What can I do for you?');
    expect(usage?.completion_tokens).toBeGreaterThan(5);
  });
});

describe('a cancelled stream', () => {
  /** Cancels an answer of 392 tokens after twenty and returns the request id. */
  const leaveAfterTwenty = async (): Promise<string> => {
    const { data, response } = await openai.chat.completions
      .create({ ...body('Count from 1 to 100.'), stream: true, max_tokens: 1_000 })
      .withResponse();
    let seen = 0;
    for await (const chunk of data) {
      seen += (chunk.choices[0]?.delta.content ?? '') === '' ? 0 : 1;
      if (seen === 20) break;
    }
    return response.headers.get('x-inference-request-id') ?? '';
  };

  test('frees the engine at once and is charged once, for no more than was generated', async () => {
    // The engine may finish the whole answer while a slow client reads twenty tokens; then another request is cancelled.
    const { id, cost } = await eventually(
      { what: 'an answer that was cancelled before its end' },
      async () => {
        const left = await leaveAfterTwenty();
        const made = await tenant.costOf(left);
        return made < 392 * CHAT_PRICES.completion_token && { id: left, cost: made };
      },
    );
    expect(cost).toBeGreaterThan(20 * CHAT_PRICES.completion_token);
    const { json } = await tenant.call('GET', `/v2/usage/requests/${id}`);
    expect(json).toMatchObject({ id, model: MODEL, streamed: true, cancelled: true, cost_nano_usd: cost });
    await eventually({ what: 'the slot to be free', timeoutMs: 1_000 }, async () => {
      const metrics = await stack.llamas[0]?.metrics();
      return metrics?.get('llamacpp:requests_processing') === 0;
    });
  });
});

describe('the cost of a request', () => {
  test('is recorded within a second and equals the decrease of the balance', async () => {
    const own = await seedInferenceTenant(stack, 50_000_000n);
    const { id, usage } = await own.openai.chat.completions.create(body('What is an H200?'));
    const stopwatch = startStopwatch();
    expect(await own.costOf(id)).toBe(priceOf(usage));
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
    expect((await own.balance()).balance).toBe(50_000_000n - BigInt(priceOf(usage)));
    // Other organisations must not learn that the request exists.
    const { json } = await tenant.call('POST', '/v2/usage/request-cost', { requestIds: [id] });
    expect(json).toEqual({ requests: [] });
    expect((await tenant.call('GET', `/v2/usage/requests/${id}`)).status).toBe(404);
  });

  test('is zero with a test key, which gets mock completions', async () => {
    const { openai: testing } = await tenant.newKey({
      mode: 'test',
      scopes: ['inference:read', 'inference:write'],
    });
    const first = await testing.chat.completions.create(body('Hello!'));
    const again = await testing.chat.completions.create(body('Hello!'));
    expect(first.choices[0]?.message.content).toBe(again.choices[0]?.message.content);
    expect(first.choices[0]?.message.content).not.toBe('Hello! What can I do for you?');
  });
});

describe('refusals', () => {
  const refused = async (promise: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> => {
    const error: unknown = await promise.then(
      () => new Error('The request succeeded.'),
      (reason: unknown) => reason,
    );
    if (!(error instanceof OpenAI.APIError)) throw error;
    expect(error.requestID ?? error.headers?.get('x-inference-request-id')).toBeTruthy();
    return error;
  };

  test('become client errors: wrong key 401, unknown model 404, parameter out of range 422, prompt too long 400', async () => {
    const outsider = openAiClient(stack, tenant.key.replace(/.{8}$/, 'AAAAAAAA'));
    const unknown = await refused(outsider.chat.completions.create(body('Hello!')));
    expect(unknown).toBeInstanceOf(OpenAI.AuthenticationError);
    const model = await refused(openai.chat.completions.create({ ...body('Hello!'), model: 'nobody/knows' }));
    expect(model).toBeInstanceOf(OpenAI.NotFoundError);
    const range = await refused(openai.chat.completions.create({ ...body('Hello!'), temperature: 3 }));
    expect(range).toBeInstanceOf(OpenAI.UnprocessableEntityError);
    expect(range.message).toContain('temperature');
    const long = await refused(openai.chat.completions.create(body('The mill by the river. '.repeat(600))));
    expect(long).toBeInstanceOf(OpenAI.BadRequestError);
  });

  test('are 402 without credit, and 429 with Retry-After above the rate limit', async () => {
    const poor = await seedInferenceTenant(stack, 0n);
    expect((await refused(poor.openai.chat.completions.create(body('Hello!')))).status).toBe(402);
    const { openai: slow } = await tenant.newKey({ scopes: ['inference:write'], limits: { rpm: 1 } });
    await slow.chat.completions.create(body('Hello!'));
    const limited = await refused(slow.chat.completions.create(body('Hello!')));
    expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
    expect(Number(limited.headers?.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('images and speech', () => {
  test('return a PNG of the requested size, charged by pixels', async () => {
    onTestFailed(() => void process.stderr.write(stack.output().slice(-4_000)));
    const { data, response } = await openai.images
      .generate({ model: 'toy-images', prompt: 'a red circle', size: '256x256' as '1024x1024' })
      .withResponse();
    const png = Buffer.from(data.data?.[0]?.b64_json ?? '', 'base64');
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([256, 256]);
    expect(await tenant.costOf(response.headers.get('x-inference-request-id') ?? '')).toBeGreaterThan(0);
  });

  test('return MP3 speech, charged by character', async () => {
    const input = 'The wheel turns.';
    const response = await openai.audio.speech.create({ model: 'flite', voice: 'alloy', input });
    expect(response.headers.get('content-type')).toBe('audio/mpeg');
    const mp3 = Buffer.from(await response.arrayBuffer());
    expect(mp3.length).toBeGreaterThan(5_000);
    // An MPEG audio frame starts with eleven set bits.
    expect(mp3.readUInt16BE(0) & 0xffe0).toBe(0xffe0);
    const id = response.headers.get('x-inference-request-id') ?? '';
    expect(await tenant.costOf(id)).toBe(input.length * 5_000);
  });
});
