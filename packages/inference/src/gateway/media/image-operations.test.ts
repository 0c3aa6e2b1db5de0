import { nanoUsd } from '@millrace/platform/money';
import { freezeModelPrice } from '@millrace/core/prices';
import { systemClock } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import { contract } from '@millrace/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mockPng } from '../../adapters/media/image-mock.ts';
import { deploymentOf, never } from '../../adapters/media/media-adapter.fixture.ts';
import { workGrowth } from '@millrace/testing/work-growth';
import { stripEngineOptions } from '../../wire/strip-engine-options.ts';
import { imageOperations } from './image-operations.ts';
import { capableDeployments, mediaCost } from './media-operation.ts';

const { generateImage, createImages } = imageOperations({ clock: systemClock, randomSeed: () => 4711 });
const body = { model_name: 'pictures', prompt: 'a mill', height: 512, width: 768 };
const openAi = { model: 'pictures', prompt: 'a mill' };
const picture = mockPng(16, 16, 1).toString('base64');

type Operation = typeof generateImage;

/** The fields that a refusal names, or null if the body is accepted. */
function refused(operation: Operation, changes: object): readonly string[] | null {
  const whole = operation === generateImage ? body : openAi;
  try {
    operation.read({ ...whole, ...changes });
    return null;
  } catch (error) {
    if (!(error instanceof Fault) || error.reason !== 'VALIDATION_FAILED') throw error;
    return error.issues.map(({ path }) => path.join('.'));
  }
}

describe('image parameters', () => {
  const long = 'a'.repeat(20_001);
  const text = [
    ['', 'x', long.slice(1)],
    [long, 1, true],
  ] as const;
  test.each([
    ['model_name', ['m'], ['', 1]],
    ['prompt', ...text],
    ['negative_prompt', ...text],
    ['prompt_2', ...text],
    ['negative_prompt_2', ...text],
    ['height', [128, 129, 2496], [127, 2497, 512.5, '512']],
    ['width', [128, 129, 2496], [127, 2497, 512.5, '512']],
    ['steps', [1, 30, 1000], [0, 1001, 1.5]],
    ['cfg_scale', [0, 5.5, 50], [-0.1, 50.1]],
    ['strength', [0, 0.5, 1], [-0.1, 1.1]],
    ['seed', [0, 42, -1, Number.MAX_SAFE_INTEGER], [1.5, 2 ** 53, '1']],
    ['backend', ['auto', 'comfyui'], [1]],
    ['enable_refiner', [true, false], ['yes']],
    ['lora', [{}, { 'old mill (v2.1)': 0.5 }], [{ 'a>b': 1 }, { 'a:b': 1 }, { '<x': 1 }, { a: 'x' }]],
    [
      'image',
      [picture, `data:image/png;base64,${picture}`],
      ['http://169.254.169.254/', 'file:///etc', 'QUJD'],
    ],
    ['sampler', ['Euler a'], [1]],
    ['style_preset', ['film'], [1]],
  ] as const)('%s', (name, good, bad) => {
    for (const value of good) {
      expect(refused(generateImage, { [name]: value }), JSON.stringify(value)).toBeNull();
    }
    for (const value of bad) {
      const named = refused(generateImage, { [name]: value });
      expect(
        named?.every((field) => field.split('.')[0] === name),
        JSON.stringify(value),
      ).toBe(true);
    }
  });

  test('a control net requires both name and image', () => {
    expect(refused(generateImage, { controlnet_name: 'canny', controlnet_image: picture })).toBeNull();
    expect(refused(generateImage, { controlnet_name: 'canny' })).toEqual(['controlnet_image']);
    expect(refused(generateImage, { controlnet_image: picture })).toEqual(['controlnet_name']);
  });

  test.each([
    ['prompt', ['x', long.slice(1)], ['', long]],
    ['n', [1, 10, null], [0, 11, 1.5]],
    ['size', ['auto', '128x2496', '1024x1024', null], ['127x128', '128x2497', '1024', '1024X1024', '']],
    ['response_format', ['b64_json', null], ['url']],
    ['num_inference_steps', [1, 1000, null], [0, 1001]],
    ['guidance_scale', [0, 50, null], [-1, 51]],
    ['seed', [0, 7, null], [0.5]],
    ['user', ['u'], [1]],
  ] as const)('%s is accepted in range and refused out of range in the OpenAI shape', (name, good, bad) => {
    for (const value of good) expect(refused(createImages, { [name]: value }), `${value}`).toBeNull();
    for (const value of bad) {
      const named = refused(createImages, { [name]: value });
      expect(named === null ? null : [...new Set(named)], `${value}`).toEqual([name]);
    }
  });
});

test('image operations name all missing fields at once', () => {
  expect(refused(generateImage, { model_name: undefined, width: undefined, height: undefined })).toEqual([
    'model_name',
    'height',
    'width',
  ]);
});

test('image operations use the documented defaults in both shapes', () => {
  const decided = {
    steps: 30,
    count: 1,
    seed: 4711,
    isSeedGiven: false,
    backend: 'auto',
    negativePrompt: null,
  };
  expect(generateImage.read(body).request).toMatchObject({
    ...decided,
    cfgScale: 5,
    width: 768,
    height: 512,
  });
  expect(createImages.read(openAi).request).toMatchObject({
    ...decided,
    cfgScale: null,
    width: 1024,
    height: 1024,
  });
  expect(createImages.read({ ...openAi, size: '128x256', seed: 7, n: 2 }).request).toMatchObject({
    ...{ width: 128, height: 256, seed: 7, isSeedGiven: true, count: 2 },
  });
});

test('image operations ignore and list unknown fields', () => {
  expect(createImages.read({ ...openAi, quality: 'hd', style: 'vivid' }).ignored).toEqual([
    'quality',
    'style',
  ]);
});

describe('stripEngineOptions', () => {
  const open = '<sd_cpp_extra_args>';
  const close = '</sd_cpp_extra_args>';

  test('removes option tags in any composition', () => {
    expect(stripEngineOptions(`a ${open}{"steps":900}${close}mill`)).toBe('a mill');
    expect(stripEngineOptions(`a ${open}\n{}\n${close} mill`)).toBe('a  mill');
    expect(stripEngineOptions(`<sd_cpp_${open}${close}extra_args>{}${close}`)).toBe('');
    for (const field of ['prompt', 'negative_prompt', 'prompt_2', 'negative_prompt_2'] as const) {
      const { request } = generateImage.read({ ...body, [field]: `x${open}{}${close}` });
      expect(JSON.stringify(request)).not.toContain('sd_cpp');
    }
  });

  test('leaves no tag in any text and no text without tags changed', () => {
    const piece = fc.constantFrom(
      open,
      close,
      '<sd_cpp_',
      'extra_args>',
      '</sd_cpp_',
      'x',
      '<',
      '>',
      '\n',
      open.toUpperCase(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        expect(stripEngineOptions(pieces.join(''))).not.toMatch(/<\/?sd_cpp_extra_args>/i);
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => stripEngineOptions(text) === text));
  });

  test('takes linear time for nested and unclosed tags', () => {
    const half = open.slice(0, 8);
    for (const piece of [open, close, `${half}${open}${close}`, `${open}${close}`, half + open, '<', '>']) {
      const growth = workGrowth(
        (length) => {
          const text = piece.repeat(length);
          return () => stripEngineOptions(text);
        },
        { length: 500, factor: 16 },
      );
      expect(growth, piece).toBeLessThan(64);
    }
    // Each removed layer joins the halves of the next tag.
    const nested = workGrowth(
      (length) => {
        const text = half.repeat(length) + open + close + open.slice(8).repeat(length);
        return () => stripEngineOptions(text);
      },
      { length: 500, factor: 16 },
    );
    expect(nested).toBeLessThan(64);
  });

  test('removes a pair of tags with its text and keeps the text after it', () => {
    expect(stripEngineOptions(`${open}a${open}b${close}c${close}d`)).toBe('cd');
    expect(stripEngineOptions(`a${open}b`)).toBe('ab');
    const loneSurrogate = String.fromCharCode(0xd800);
    expect(stripEngineOptions(`${loneSurrogate}${open}${close}\u{1f600}`)).toBe(`${loneSurrogate}\u{1f600}`);
  });

  test('bounds the texts of every field', () => {
    const long = open.repeat(4_000);
    for (const field of ['sampler', 'style_preset', 'controlnet_name', 'backend', 'model_name']) {
      expect(() => generateImage.read({ ...body, [field]: long }), field).toThrow();
    }
  });
});

describe('image price', () => {
  const price = freezeModelPrice(
    { orgId: 'org', mode: 'live', now: new Date(0), prices: [] } as never,
    'pictures',
  );

  test('is computed by pixels and steps and rounded up once', () => {
    const cost = (changes: object): bigint =>
      mediaCost(price, generateImage.worstCase(generateImage.read({ ...body, ...changes }).request));
    expect(cost({ width: 1024, height: 1024, steps: 25 })).toBe(10_000_000n);
    expect(cost({ width: 1024, height: 1024 })).toBe(12_000_000n);
    expect(cost({ width: 129, height: 131, steps: 7 })).toBe(45_126n);
    const four = createImages.read({ ...openAi, n: 4 }).request;
    expect(mediaCost(price, createImages.worstCase(four))).toBe(nanoUsd(48_000_000n));
  });

  test('charges what was generated and never more than the reservation', () => {
    const size = fc.integer({ min: 1, max: 3000 });
    const images = fc.array(fc.record({ width: size, height: size }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(
        images,
        fc.integer({ min: 128, max: 2496 }),
        fc.integer({ min: 1, max: 1000 }),
        (made, side, steps) => {
          const sized = { ...openAi, n: made.length, size: `${side}x${side}`, num_inference_steps: steps };
          const { request } = createImages.read(sized);
          const response = { images: made.map((image) => ({ ...image, base64: '', seed: 1 })) };
          const [worst, actual] = [createImages.worstCase(request), createImages.made(request, response)];
          expect(actual.imagePixelSteps).toBeLessThanOrEqual(worst.imagePixelSteps);
          const pixels = made.reduce((sum, { width, height }) => sum + width * height, 0);
          expect(actual.imagePixelSteps).toBeLessThanOrEqual(pixels * steps);
          expect(mediaCost(price, actual)).toBeLessThanOrEqual(mediaCost(price, worst));
        },
      ),
    );
  });
});

test('image responses match the contract', async () => {
  const facts = { deployment: deploymentOf('mock'), requestId: 'r' };
  const call = async () => Promise.reject(new Error('unexpected upstream call'));
  const mine = { createdSeconds: 1_700_000_000, elapsedMs: 1234.5 };
  for (const operation of [generateImage, createImages]) {
    const { request } = operation.read(operation === generateImage ? body : { ...openAi, n: 2 });
    const response = await operation.adapterOf('mock')?.run(request, facts, call, never);
    if (response === undefined) throw new Error('The mock returned no image.');
    const { contentType, body: text } = operation.render(request, response, mine);
    expect(contentType).toBe('application/json');
    const value: unknown = JSON.parse(String(text));
    expect(contract.operations[operation.id].response.schema.safeParse(value).success).toBe(true);
    if (operation === generateImage) {
      expect(value).toMatchObject({ images: [{ index: 0, random_seed: 4711 }], inference_time: 1.235 });
    } else {
      expect(value).toMatchObject({ created: 1_700_000_000, data: [{}, {}] });
    }
    const again = await operation.adapterOf('mock')?.run(request, facts, call, never);
    expect(again).toEqual(response);
  }
});

describe('capableDeployments', () => {
  const deployments = [
    deploymentOf('openai'),
    deploymentOf('vllm'),
    deploymentOf('automatic1111'),
    deploymentOf('llama.cpp'),
  ];
  const able = (changes: object): readonly string[] =>
    capableDeployments(generateImage, generateImage.read({ ...body, ...changes }).request, deployments).map(
      ({ engine }) => engine,
    );

  test('returns all capable deployments, or those of the requested engine kind', () => {
    expect(able({})).toEqual(['openai', 'vllm', 'automatic1111']);
    expect(able({ seed: 1 })).toEqual(['vllm', 'automatic1111']);
    expect(able({ sampler: 'Euler' })).toEqual(['automatic1111']);
    expect(able({ backend: 'vllm' })).toEqual(['vllm']);
  });

  test('names unsupported fields as the client wrote them', () => {
    expect(() => able({ prompt_2: 'x', sampler: 'Euler' })).toThrow(
      expect.objectContaining({
        reason: 'PARAMETER_NOT_SUPPORTED',
        issues: [expect.objectContaining({ path: ['prompt_2'] })],
      }),
    );
    const { request } = createImages.read({ ...openAi, num_inference_steps: 900 });
    expect(() => capableDeployments(createImages, request, [deploymentOf('vllm')])).toThrow(
      expect.objectContaining({ issues: [expect.objectContaining({ path: ['num_inference_steps'] })] }),
    );
  });
});
