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

describe('OpenAI images adapter request', () => {
  test('to a diffusion engine has its field names', async () => {
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

  test('to vLLM has true_cfg_scale for distilled models', async () => {
    expect(await bodySent('vllm', { negativePrompt: 'people' })).toMatchObject({ true_cfg_scale: 5 });
    expect(await bodySent('vllm')).not.toHaveProperty('true_cfg_scale');
    expect(await bodySent('vllm', { cfgScale: null })).not.toHaveProperty('guidance_scale');
  });

  test('to SGLang has base64 format and a seed, because its defaults are a URL and a fixed seed', async () => {
    expect(await bodySent('sglang')).toMatchObject({
      response_format: 'b64_json',
      seed: 42,
      width: 192,
      height: 128,
    });
  });

  test('to OpenAI leaves out fields that OpenAI refuses', async () => {
    expect(await bodySent('openai', {}, 'gpt-image-1')).toEqual({ ...common, model: 'gpt-image-1' });
    expect(await bodySent('openai', {}, 'dall-e-3')).toEqual({
      ...common,
      model: 'dall-e-3',
      response_format: 'b64_json',
    });
  });
});

// vLLM-Omni, SGLang and OpenAI are not installed; the doubles follow their rules.
test.each(['vllm', 'sglang', 'openai'] as const)(
  'OpenAI images adapter gets the requested image from the double of %s',
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

describe('OpenAI images adapter unsupportedFields', () => {
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

  test("enforces vLLM's own limits", () => {
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

describe('OpenAI images adapter with an invalid response', () => {
  test.each([
    ['no JSON', Buffer.from('<html>')],
    ['no pictures', { data: [] }],
    ['an address', { data: [{ url: 'http://127.0.0.1/x.png' }] }],
    ['text', { data: [{ b64_json: Buffer.from('hello, this is not an image at all').toString('base64') }] }],
  ])('reports a retryable engine failure for %s', async (_what, body) => {
    expect(await failureFrom(200, body)).toMatchObject({ reason: 'UPSTREAM_ERROR', retryable: true });
  });

  test('drops surplus images', async () => {
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

describe('toMediaFailure', () => {
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
