import { systemClock } from '@millrace/platform/clock';
import { plainPng } from '@millrace/services';
import { startOpenAiImagesDouble } from '@millrace/testing';
import { describe, expect, test } from 'vitest';
import { imageAdapterOf } from './image-adapters.ts';
import type { ImageRequest } from './image-adapter.ts';
import { createOpenAiImageAdapter, type OpenAiImageEngine } from './image-openai.ts';
import { fixedSender, httpSender, deploymentOf, never, plainImageRequest } from './media-adapter.fixture.ts';
import { MediaEngineError } from './media-adapter.ts';

const png = plainPng(192, 128, [1, 2, 3]).toString('base64');
const drawn = { created: 1, data: [{ b64_json: png, url: null, revised_prompt: 'not for the client' }] };

async function bodySent(
  engine: OpenAiImageEngine,
  changes: Partial<ImageRequest> = {},
  upstreamModel = 'toy',
): Promise<unknown> {
  const { call, requests } = fixedSender(200, drawn);
  const deployment = deploymentOf(engine, { upstreamModel, apiKey: 'k' });
  await createOpenAiImageAdapter(engine).run(
    { ...plainImageRequest, ...changes },
    { deployment, requestId: 'r' },
    call,
    never,
  );
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({
    method: 'POST',
    path: '/v1/images/generations',
    headers: { authorization: 'Bearer k' },
  });
  return JSON.parse(String(requests[0]?.body));
}

const common = { prompt: 'a mill', n: 1, size: '192x128' };

describe('each engine is told in its own words', () => {
  test('engines of diffusion models', async () => {
    expect(await bodySent('openai-images', { negativePrompt: 'people' })).toEqual({
      ...common,
      model: 'toy',
      response_format: 'b64_json',
      num_inference_steps: 30,
      guidance_scale: 5,
      negative_prompt: 'people',
      seed: 42,
    });
  });

  test('vLLM, which guides distilled models by another number', async () => {
    expect(await bodySent('vllm', { negativePrompt: 'people' })).toMatchObject({ true_cfg_scale: 5 });
    expect(await bodySent('vllm')).not.toHaveProperty('true_cfg_scale');
    expect(await bodySent('vllm', { cfgScale: null })).not.toHaveProperty('guidance_scale');
  });

  test('SGLang, which would otherwise answer with an address and always draw the same', async () => {
    expect(await bodySent('sglang')).toMatchObject({
      response_format: 'b64_json',
      seed: 42,
      width: 192,
      height: 128,
    });
  });

  test('OpenAI itself, which refuses what it does not know', async () => {
    expect(await bodySent('openai', {}, 'gpt-image-1')).toEqual({ ...common, model: 'gpt-image-1' });
    expect(await bodySent('openai', {}, 'dall-e-3')).toEqual({
      ...common,
      model: 'dall-e-3',
      response_format: 'b64_json',
    });
  });
});

// vLLM-Omni, SGLang and OpenAI are not there: these are doubles with their rules.
test.each(['vllm', 'sglang', 'openai'] as const)(
  'the double of %s draws what it is told to',
  async (engine) => {
    await using double = await startOpenAiImagesDouble(engine);
    for (const upstreamModel of ['toy', 'dall-e-3']) {
      const deployment = deploymentOf(engine, { upstreamModel });
      const facts = { deployment, requestId: 'r' };
      const request = { ...plainImageRequest, count: 2 };
      const { images } = await createOpenAiImageAdapter(engine).run(
        request,
        facts,
        httpSender(double.url),
        never,
      );
      const seeds = engine === 'openai' ? [null, null] : [42, 43];
      expect(images.map(({ width, height, seed }) => [width, height, seed])).toEqual(
        seeds.map((seed) => [192, 128, seed]),
      );
    }
  },
);

describe('what an engine cannot do is known before it is asked', () => {
  const all: Partial<ImageRequest> = {
    negativePrompt: 'x',
    prompt2: 'x',
    negativePrompt2: 'x',
    steps: 31,
    cfgScale: 6,
    isSeedGiven: true,
    sampler: 'x',
    stylePreset: 'x',
    initImage: png,
    controlnet: { name: 'x', image: png },
    refiner: true,
    lora: { x: 1 },
  };
  const never = ['prompt_2', 'negative_prompt_2', 'enable_refiner'];
  test.each([
    ['openai-images', [...never, 'sampler', 'style_preset', 'image', 'controlnet_name', 'lora']],
    ['vllm', [...never, 'sampler', 'style_preset', 'image', 'controlnet_name', 'lora']],
    ['automatic1111', never],
    ['comfyui', [...never, 'style_preset', 'image', 'controlnet_name']],
    [
      'openai',
      [
        ...[...never, 'negative_prompt', 'steps', 'cfg_scale', 'seed'],
        ...['sampler', 'style_preset', 'image', 'controlnet_name', 'lora'],
      ],
    ],
  ] as const)('%s', (engine, unsupported) => {
    const adapter = imageAdapterOf(engine, { clock: systemClock });
    const deployment = deploymentOf(engine);
    expect(new Set(adapter?.unsupportedFields({ ...plainImageRequest, ...all }, deployment))).toEqual(
      new Set(unsupported),
    );
    expect(adapter?.unsupportedFields(plainImageRequest, deployment)).toEqual([]);
    expect(adapter?.unsupportedFields({ ...plainImageRequest, backend: 'tpu' }, deployment)).toEqual([
      'backend',
    ]);
    expect(adapter?.unsupportedFields({ ...plainImageRequest, backend: engine }, deployment)).toEqual([]);
  });

  test('vLLM has bounds of its own', () => {
    const adapter = createOpenAiImageAdapter('vllm');
    expect(
      adapter.unsupportedFields({ ...plainImageRequest, steps: 200, cfgScale: 20 }, deploymentOf('vllm')),
    ).toEqual([]);
    expect(
      adapter.unsupportedFields({ ...plainImageRequest, steps: 201, cfgScale: 21 }, deploymentOf('vllm')),
    ).toEqual(['steps', 'cfg_scale']);
  });
});

async function failureFrom(status: number, body: unknown): Promise<unknown> {
  const { call } = fixedSender(status, body);
  const facts = { deployment: deploymentOf('openai-images'), requestId: 'r' };
  return createOpenAiImageAdapter('openai-images')
    .run(plainImageRequest, facts, call, never)
    .then(
      () => null,
      (error: unknown) => (error instanceof MediaEngineError ? error.failure : error),
    );
}

describe('an answer that is none', () => {
  test.each([
    ['no JSON', Buffer.from('<html>')],
    ['no pictures', { data: [] }],
    ['an address', { data: [{ url: 'http://127.0.0.1/x.png' }] }],
    ['text', { data: [{ b64_json: Buffer.from('hello, I am no picture at all').toString('base64') }] }],
  ])('%s is the failure of the engine, and another may be tried', async (_what, body) => {
    expect(await failureFrom(200, body)).toMatchObject({ reason: 'UPSTREAM_ERROR', retryable: true });
  });

  test('more pictures than were asked for are not passed on', async () => {
    const { call } = fixedSender(200, { data: [{ b64_json: png }, { b64_json: png }] });
    const facts = { deployment: deploymentOf('openai-images'), requestId: 'r' };
    const { images } = await createOpenAiImageAdapter('openai-images').run(
      plainImageRequest,
      facts,
      call,
      never,
    );
    expect(images).toEqual([{ base64: png, width: 192, height: 128, seed: 42 }]);
  });
});

describe('refusals', () => {
  test.each([
    [400, { error: { message: 'size is odd' } }, 'VALIDATION_FAILED', 'size is odd', false],
    [
      422,
      { detail: [{ loc: ['body', 'n'], msg: 'too big', input: 99 }] },
      'VALIDATION_FAILED',
      'n: too big',
      false,
    ],
    [400, { error: 'no\nprompt' }, 'VALIDATION_FAILED', 'no prompt', false],
    [401, { error: { message: 'bad key sk-123' } }, 'UPSTREAM_ERROR', 'The engine failed.', true],
    [404, { error: { message: 'no model /models/x' } }, 'UPSTREAM_ERROR', 'The engine failed.', true],
    [429, {}, 'MODEL_OVERLOADED', 'The engine is busy.', true],
    [503, {}, 'MODEL_OVERLOADED', 'The engine is busy.', true],
    [504, {}, 'UPSTREAM_TIMEOUT', 'The engine took too long.', true],
    [500, { error: { message: 'CUDA out of memory' } }, 'UPSTREAM_ERROR', 'The engine failed.', true],
  ] as const)('%i %j is %s', async (status, body, reason, message, retryable) => {
    expect(await failureFrom(status, body)).toEqual({ status, reason, message, retryable });
  });
});
